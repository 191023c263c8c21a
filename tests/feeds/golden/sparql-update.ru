# The log of a station.
PREFIX e: <http://e/>

INSERT DATA { e:T101 e:delay 4 ; e:note """two lines,

with { and ; between""" } ;

INSERT DATA { GRAPH e:plan { e:T101 e:stop _:halt . _:halt e:name 'M\u00fcnchen' } }

# A train is late.
WITH <http://e/plan>
DELETE { ?train <http://e/delay> ?old }
INSERT { ?train <http://e/delay> 7 }

WHERE { ?train <http://e/delay> ?old }

LOAD <http://e/timetable>

DELETE DATA { _:halt <http://e/name> "x" }

MOVE <http://e/plan> TO <http://e/archive>

DROP ALL ;
