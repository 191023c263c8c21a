"""The adapters of rdflib's own stores; rdflive finds each through an entry point, and nothing here is public.

`memory` watches `SimpleMemory` and `Memory`, `auditable` watches `AuditableStore`, and `remote` refuses the
stores in front of a SPARQL endpoint.
"""
