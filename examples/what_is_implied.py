"""Subscribe to entailed triples: people and organisations in the vocabulary of W3C ORG."""

import rdflib
from rdflib import FOAF, ORG, OWL, RDF, RDFS

import rdflive

CITY = rdflib.Namespace("http://example.org/city/")

# statements of the vocabulary about a few of its terms
ORG_FACTS = [
    (ORG.Organization, RDFS.subClassOf, FOAF.Agent),
    (ORG.FormalOrganization, RDFS.subClassOf, ORG.Organization),
    (ORG.OrganizationalUnit, RDFS.subClassOf, ORG.Organization),
    (ORG.memberOf, RDFS.range, ORG.Organization),
    (ORG.memberOf, OWL.inverseOf, ORG.hasMember),
    (ORG.headOf, RDFS.subPropertyOf, ORG.memberOf),
    (ORG.unitOf, RDFS.subPropertyOf, ORG.subOrganizationOf),
    (ORG.subOrganizationOf, RDFS.subPropertyOf, ORG.transitiveSubOrganizationOf),
    (ORG.transitiveSubOrganizationOf, RDF.type, OWL.TransitiveProperty),
]
# a further rule: a member of a part is a member of the whole
RULES = """
@prefix org: <http://www.w3.org/ns/org#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
{ ?who org:memberOf ?part . ?part org:transitiveSubOrganizationOf ?whole } => { ?who org:memberOf ?whole } ;
    rdfs:label "member of the whole" .
"""

graph = rdflib.Graph()
graph.bind("", CITY)
for fact in ORG_FACTS:
    graph.add(fact)


def printer(title):
    """Make a callback that prints each delta with the rules of inferred solutions."""

    def show(delta):
        for sign, solutions in (("-", delta.removed), ("+", delta.added)):
            for solution in sorted(solutions, key=str):
                names = " ".join(term.n3(graph.namespace_manager) for term in solution)
                by = f"   inferred by {', '.join(solution.origin.rules)}" if solution.origin.inferred else ""
                print(f"  {title} {sign} {names}{by}")

    return show


agents = rdflive.subscribe(
    graph, "SELECT ?agent { ?agent a foaf:Agent }", printer("agents "), entailment="rdfs", provenance=True
)
members = rdflive.subscribe(
    graph,
    "SELECT ?who ?org { ?org org:hasMember ?who }",
    printer("members"),
    rules=["rdfs-plus", RULES],
    provenance=True,
)

print("Ada heads the tram works:")
graph.update("INSERT DATA { :Ada a foaf:Person ; org:headOf :Trams . :Trams a org:OrganizationalUnit }")

print("The works are a unit of a department of the city:")
graph.update("INSERT DATA { :Trams org:unitOf :Traffic . :Traffic org:subOrganizationOf :City }")

print("The schema learns that persons are agents:")
graph.add((FOAF.Person, RDFS.subClassOf, FOAF.Agent))

print("The department is dissolved:")
with rdflive.batch(graph):
    graph.remove((None, None, CITY.Traffic))
    graph.remove((CITY.Traffic, None, None))

print(
    "The works are no unit any more, but as something that has members they are an organisation (no delta)."
)
graph.remove((CITY.Trams, RDF.type, None))

print("Why is Trams an agent?")
with rdflive.saturate(graph) as saturated:
    for proof in saturated.why((CITY.Trams, RDF.type, FOAF.Agent)):
        for step in proof.steps:
            print(f"  {step.rule}:", " ".join(term.n3(graph.namespace_manager) for term in step.conclusion))

agents.close()
members.close()
