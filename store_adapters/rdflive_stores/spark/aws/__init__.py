"""Streams of AWS as sources of Spark, by boto3: Kinesis and Neptune Streams."""
