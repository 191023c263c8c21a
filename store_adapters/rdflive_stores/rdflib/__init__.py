"""The adapters of rdflib's own stores, which rdflive finds through entry points. Nothing here is public.

`memory` watches `SimpleMemory` and `Memory`, `auditable` watches `AuditableStore`, and `remote` refuses the
stores of SPARQL endpoints.
"""
