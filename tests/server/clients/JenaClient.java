import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.apache.jena.atlas.web.HttpException;
import org.apache.jena.query.Dataset;
import org.apache.jena.query.DatasetFactory;
import org.apache.jena.rdf.model.Model;
import org.apache.jena.rdf.model.ModelFactory;
import org.apache.jena.rdf.model.ResourceFactory;
import org.apache.jena.rdfconnection.RDFConnection;
import org.apache.jena.rdfconnection.RDFConnectionRemote;

/**
 * Jena's RDFConnection as a client: `java -cp 'lib/*' JenaClient.java URL FILE` prints a line for each step.
 * FILE is Turtle. The formats are those that Jena asks for and sends by default.
 */
public class JenaClient {
    private static final String GRAPH = "http://example.org/jena";

    public static void main(String[] arguments) {
        String server = arguments[0], file = arguments[1];
        try (RDFConnection connection = RDFConnectionRemote.newBuilder()
                .destination(server).queryEndpoint("query").updateEndpoint("update").gspEndpoint("store").build()) {
            queries(connection);
            graphs(connection, file);
            datasets(connection, file);
        }
    }

    private static void queries(RDFConnection connection) {
        connection.update("INSERT DATA { <urn:a> <urn:p> 1, 'ü'@de . GRAPH <urn:g> { <urn:b> <urn:p> 2 } }");
        List<String> seen = new ArrayList<>();
        connection.querySelect("SELECT ?o { ?s ?p ?o }", row -> seen.add(row.get("o").toString()));
        Collections.sort(seen);
        say("select", seen);
        say("ask", connection.queryAsk("ASK { GRAPH <urn:g> { <urn:b> <urn:p> 2 } }"));
        say("construct", connection.queryConstruct("CONSTRUCT { ?s <urn:q> ?o } { ?s ?p ?o }").size());
        say("describe", connection.queryDescribe("DESCRIBE <urn:a>").size());
        try {
            connection.update("CREATE GRAPH <urn:g>");
        } catch (HttpException error) {
            say("graph that exists", error.getStatusCode());
        }
    }

    private static void graphs(RDFConnection connection, String file) {
        connection.load(GRAPH, file);
        say("load", connection.fetch(GRAPH).size());
        Model model = ModelFactory.createDefaultModel();
        model.add(ResourceFactory.createResource("urn:c"), ResourceFactory.createProperty("urn:p"), "x");
        connection.load(GRAPH, model);
        say("load of a model", connection.fetch(GRAPH).size());
        connection.put(GRAPH, model);
        say("put", connection.fetch(GRAPH).isIsomorphicWith(model));
        connection.put(model);
        say("default graph", connection.fetch().isIsomorphicWith(model));
        connection.delete(GRAPH);
        try {
            connection.fetch(GRAPH);
        } catch (HttpException error) {
            say("deleted", error.getStatusCode());
        }
        connection.delete();
        say("default graph deleted", connection.fetch().size());
    }

    private static void datasets(RDFConnection connection, String file) {
        Dataset dataset = DatasetFactory.create();
        dataset.getDefaultModel().read(file);
        dataset.addNamedModel(GRAPH, dataset.getDefaultModel());
        connection.putDataset(dataset);
        Dataset fetched = connection.fetchDataset();
        say("dataset", fetched.getDefaultModel().isIsomorphicWith(dataset.getDefaultModel())
            && fetched.getNamedModel(GRAPH).isIsomorphicWith(dataset.getDefaultModel()));
        connection.loadDataset(dataset);
        say("dataset loaded twice", connection.fetchDataset().getNamedModel(GRAPH).size());
    }

    private static void say(String step, Object found) {
        System.out.println(step + ": " + found);
    }
}
