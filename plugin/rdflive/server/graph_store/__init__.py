"""The SPARQL 1.1 Graph Store HTTP Protocol: graphs of the dataset as documents."""
