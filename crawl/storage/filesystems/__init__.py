"""What is particular to a disk, an object store and HDFS, for `crawl.storage.folder`."""
