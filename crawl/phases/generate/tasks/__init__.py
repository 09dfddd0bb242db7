"""generate, task by task: scan → cut → assign → collect → deal → list (→ mark).

scan     a CrawlDb file → candidates (row, key, group), sent to the group's shard
cut      all shards together → the exact key above which a segment takes candidates
assign   a shard → which row goes to which segment, sent to its file's task
collect  a file → its selected records, sent to where their chains meet
deal     the chains of some sites → counted; balanced by the driver; sent to their parts
list     a part → its file, hosts interleaved
mark     a file → the same with the selected records' generate time (on request)

Steps between which the driver has nothing to decide are one Spark job: scan to the chains'
count, if there is no top N to be cut; else scan and rank, (a second look,) assign to count;
then deal and list.
"""
