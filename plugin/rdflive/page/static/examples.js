/** Example queries for any graph. */

export const EXAMPLES = [
  {
    title: "Instances per class",
    query: `# Number of instances of each class
SELECT ?class (COUNT(?thing) AS ?things) WHERE {
  ?thing a ?class
} GROUP BY ?class
`,
  },
  {
    title: "All triples",
    query: `# All triples
SELECT ?subject ?predicate ?object WHERE {
  ?subject ?predicate ?object
}
`,
  },
  {
    title: "Labels",
    query: `# Nodes with a label, and their classes
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT ?thing ?label ?class WHERE {
  ?thing rdfs:label ?label
  OPTIONAL { ?thing a ?class }
}
`,
  },
  {
    title: "Yes or no",
    query: `# Is there a typed node without a label?
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
ASK {
  ?thing a ?class
  FILTER NOT EXISTS { ?thing rdfs:label ?label }
}
`,
  },
  {
    title: "A graph",
    query: `# All links reversed
CONSTRUCT { ?to <urn:linkedFrom> ?from } WHERE {
  ?from ?link ?to
  FILTER (isIRI(?to))
}
`,
  },
];
