import java.io.File;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.repository.RepositoryException;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.rio.Rio;
import org.eclipse.rdf4j.sail.memory.MemoryStore;
import org.eclipse.rdf4j.sail.shacl.ShaclSail;
import org.eclipse.rdf4j.sail.shacl.ShaclSail.TransactionSettings.ValidationApproach;

/**
 * The peer of (v) in Java: `java -cp 'lib/*' ValidatePeer.java SHAPES DATA CHANGES` prints seconds as JSON.
 * A line of CHANGES is a kind, a transaction's number, + or -, and a triple.
 */
public class ValidatePeer {
    private static final int BLOCKS = 8, WARM = 30;

    private record Change(boolean isAdd, Statement triple) {}

    public static void main(String[] paths) throws Exception {
        Map<String, Map<String, List<Change>>> kinds = new LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of(paths[2]))) {
            String[] parts = line.split(" ", 4);
            Statement triple = Rio.parse(new StringReader(parts[3]), RDFFormat.NTRIPLES).iterator().next();
            kinds.computeIfAbsent(parts[0], kind -> new LinkedHashMap<>())
                .computeIfAbsent(parts[1], number -> new ArrayList<>())
                .add(new Change(parts[2].equals("+"), triple));
        }
        SailRepository repository = new SailRepository(new ShaclSail(new MemoryStore()));
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.begin(ValidationApproach.Disabled);
            connection.add(new File(paths[0]), RDFFormat.TURTLE, RDF4J.SHACL_SHAPE_GRAPH);
            connection.add(new File(paths[1]), RDFFormat.NTRIPLES);
            connection.commit();
            List<String> found = new ArrayList<>();
            for (var kind : kinds.entrySet()) {
                double seconds = median(connection, new ArrayList<>(kind.getValue().values()));
                found.add(String.format("\"%s\": %g", kind.getKey(), seconds));
            }
            long begin = System.nanoTime();
            commit(connection, List.of(), ValidationApproach.Bulk);
            found.add(String.format("\"first\": %g", (System.nanoTime() - begin) / 1e9));
            System.out.println("{" + String.join(", ", found) + "}");
        } finally {
            repository.shutDown();
        }
    }

    private static double median(SailRepositoryConnection connection, List<List<Change>> batches) {
        for (List<Change> batch : batches.subList(0, WARM)) {
            commit(connection, batch, ValidationApproach.Auto);
        }
        int each = (batches.size() - WARM) / BLOCKS;
        double[] seconds = new double[BLOCKS];
        for (int block = 0; block < BLOCKS; block++) {
            long begin = System.nanoTime();
            for (int i = 0; i < each; i++) {
                commit(connection, batches.get(WARM + block * each + i), ValidationApproach.Auto);
            }
            seconds[block] = (System.nanoTime() - begin) / 1e9 / each;
        }
        Arrays.sort(seconds);
        return seconds[BLOCKS / 2];
    }

    /** What does not conform is taken back, as the store does. */
    private static void commit(SailRepositoryConnection connection, List<Change> batch, ValidationApproach approach) {
        connection.begin(approach);
        for (Change change : batch) {
            if (change.isAdd()) {
                connection.add(change.triple());
            } else {
                connection.remove(change.triple());
            }
        }
        try {
            connection.commit();
        } catch (RepositoryException error) {
            connection.rollback();
        }
    }
}
