import java.io.File;
import java.util.Arrays;
import java.util.function.IntFunction;

import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.repository.RepositoryException;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.sail.memory.MemoryStore;
import org.eclipse.rdf4j.sail.shacl.ShaclSail;
import org.eclipse.rdf4j.sail.shacl.ShaclSail.TransactionSettings.ValidationApproach;

/** The peer of (v) in Java: `java -cp 'lib/*' ValidatePeer.java SHAPES DATA` prints seconds as JSON. */
public class ValidatePeer {
    private static final ValueFactory TERMS = SimpleValueFactory.getInstance();
    private static final String BRICK = "https://brickschema.org/schema/Brick#";
    private static final int BLOCKS = 8, EACH = 3, WARM = 30;

    public static void main(String[] paths) throws Exception {
        ShaclSail sail = new ShaclSail(new MemoryStore());
        SailRepository repository = new SailRepository(sail);
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.begin(ValidationApproach.Disabled);
            connection.add(new File(paths[0]), RDFFormat.TURTLE, RDF4J.SHACL_SHAPE_GRAPH);
            connection.add(new File(paths[1]), RDFFormat.NTRIPLES);
            connection.commit();
            double point = median(connection, n -> add(node("new" + n), RDF.TYPE, iri("Zone_Air_Temperature_Sensor")));
            double link = median(connection, n -> add(node("b0_vav0_0"), iri("hasPoint"), node("new" + n)));
            double untouched = median(connection, n -> add(node("x"), TERMS.createIRI("urn:note"), node("y" + n)));
            double broken = median(connection, n -> add(node("new" + n), iri("isPointOf"), node("new" + (n + 1))));
            long begin = System.nanoTime();
            try {
                connection.begin(ValidationApproach.Bulk);
                connection.add(add(node("x"), TERMS.createIRI("urn:note"), node("z")));
                connection.commit();
            } catch (RepositoryException error) {
                connection.rollback();
            }
            double first = (System.nanoTime() - begin) / 1e9;
            System.out.printf(
                "{\"first\": %g, \"point\": %g, \"link\": %g, \"untouched\": %g, \"broken\": %g}%n",
                first, point, link, untouched, broken);
        } finally {
            repository.shutDown();
        }
    }

    private static double median(SailRepositoryConnection connection, IntFunction<Statement> change) {
        int number = 0;
        for (; number < WARM; number++) {
            commit(connection, change.apply(number));
        }
        double[] seconds = new double[BLOCKS];
        for (int block = 0; block < BLOCKS; block++) {
            long begin = System.nanoTime();
            for (int i = 0; i < EACH; i++) {
                commit(connection, change.apply(number++));
            }
            seconds[block] = (System.nanoTime() - begin) / 1e9 / EACH;
        }
        Arrays.sort(seconds);
        return seconds[BLOCKS / 2];
    }

    /** What does not conform is taken back, as the store does. */
    private static void commit(SailRepositoryConnection connection, Statement change) {
        connection.begin();
        connection.add(change);
        try {
            connection.commit();
        } catch (RepositoryException error) {
            connection.rollback();
        }
    }

    private static Statement add(IRI subject, IRI predicate, org.eclipse.rdf4j.model.Value object) {
        return TERMS.createStatement(subject, predicate, object);
    }

    private static IRI iri(String name) {
        return TERMS.createIRI(BRICK + name);
    }

    private static IRI node(String name) {
        return TERMS.createIRI("urn:building#" + name);
    }
}
