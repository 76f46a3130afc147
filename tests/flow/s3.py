# SPDX-License-Identifier: MIT
"""The other side of send_s3.sh: a server of S3 (moto, which keeps all in memory
and compares every signature), and what is asked of it with boto3.

    s3.py serve PORT              runs the server until it is killed
    s3.py make PORT BUCKET        makes a user and a bucket; from then on
                                  signatures are compared; prints the two keys
                                  of the user
    s3.py list PORT BUCKET        its objects: KEY BYTES, the unfinished uploads
                                  as UPLOAD KEY
    s3.py fetch PORT BUCKET PREFIX FOLDER
                                  copies what is below PREFIX there; fails unless
                                  every chunk that the metadata know has the
                                  checksum that they know
    s3.py begin PORT BUCKET KEY   begins an upload, and leaves it
    s3.py spoil PORT BUCKET KEY   puts as many other bytes in place of an object

All but serve and make take AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
"""
import base64
import json
import os
import sys
import urllib.request


def client(what, port, **keys):
    import boto3

    return boto3.client(what, endpoint_url=f"http://127.0.0.1:{port}",
                        region_name="eu-central-1", **keys)


def make(port, bucket):
    anybody = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    iam = client("iam", port, **anybody)
    iam.create_user(UserName="recorder")
    key = iam.create_access_key(UserName="recorder")["AccessKey"]
    allow = {"Version": "2012-10-17",
             "Statement": [{"Effect": "Allow", "Action": "s3:*",
                            "Resource": "*"}]}
    iam.put_user_policy(UserName="recorder", PolicyName="all",
                        PolicyDocument=json.dumps(allow))
    client("s3", port, **anybody).create_bucket(
        Bucket=bucket, CreateBucketConfiguration={
            "LocationConstraint": "eu-central-1"})
    urllib.request.urlopen(urllib.request.Request(
        f"http://127.0.0.1:{port}/moto-api/reset-auth", data=b"0",
        headers={"Content-Type": "text/plain"}))
    print(key["AccessKeyId"], key["SecretAccessKey"])


def keys_of(s3, bucket, prefix=""):
    for page in s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix):
        yield from page.get("Contents", [])


def listing(s3, bucket):
    there = ["%s %d" % (one["Key"], one["Size"])
             for one in keys_of(s3, bucket)]
    begun = s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    # In one piece: whoever reads them may stop at the first.
    print("\n".join(there + ["UPLOAD " + one["Key"] for one in begun]))


def fetch(s3, bucket, prefix, folder):
    told, written = {}, {}
    for one in keys_of(s3, bucket, prefix):
        path = os.path.join(folder, one["Key"][len(prefix):].lstrip("/"))
        got = s3.get_object(Bucket=bucket, Key=one["Key"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(got["Body"].read())
        crc = got["Metadata"].get("spate-crc32c")
        if path[-8:].isdigit() and crc:
            told[path] = int.from_bytes(base64.b64decode(crc), "big")
        if path.endswith(".meta.jsonl"):
            for line in map(json.loads, open(path, encoding="utf-8")):
                if "written" in line:
                    chunk = "%s.%08d" % (path[:-11], line["written"])
                    written[chunk] = line["crc"]
    if not written or not written.items() <= told.items():
        sys.exit(f"the checksums of {told} are {written} in the metadata")


def main(verb, port, *args):
    if verb == "serve":
        from moto.server import main as serve

        return serve(["-p", port])
    if verb == "make":
        return make(port, *args)
    s3 = client("s3", port)
    if verb == "list":
        return listing(s3, *args)
    if verb == "fetch":
        return fetch(s3, *args)
    bucket, key = args
    if verb == "begin":
        return s3.create_multipart_upload(Bucket=bucket, Key=key)
    size = s3.head_object(Bucket=bucket, Key=key)["ContentLength"]
    return s3.put_object(Bucket=bucket, Key=key, Body=bytes(size))


main(*sys.argv[1:])
