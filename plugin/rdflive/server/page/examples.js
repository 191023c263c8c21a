/** Queries to begin with, which say something of any graph. */

export const EXAMPLES = [
  {
    title: "Things per class",
    query: `# How many things there are of each class
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
    query: `# What has a label, and what it is
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT ?thing ?label ?class WHERE {
  ?thing rdfs:label ?label
  OPTIONAL { ?thing a ?class }
}
`,
  },
  {
    title: "Yes or no",
    query: `# Is there anything without a label?
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
ASK {
  ?thing a ?class
  FILTER NOT EXISTS { ?thing rdfs:label ?label }
}
`,
  },
  {
    title: "A graph",
    query: `# Every link the other way round
CONSTRUCT { ?to <urn:linkedFrom> ?from } WHERE {
  ?from ?link ?to
  FILTER (isIRI(?to))
}
`,
  },
];
