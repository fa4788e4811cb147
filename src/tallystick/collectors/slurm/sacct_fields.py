"""Names of the columns that sacct has had since 20.02, and which of them are free text."""

IDENTITY = ("JobIDRaw", "Submit")
TAKES_SURPLUS = frozenset({"JobName", "Comment", "SubmitLine", "WorkDir"})
# People and programs write these as they like, so each may hold a delimiter.
FREE_TEXT = TAKES_SURPLUS | {
    "AdminComment",
    "Container",
    "Extra",
    "StdErr",
    "StdIn",
    "StdOut",
    "SystemComment",
}
_OTHER_FIELDS = """
    Account AllocCPUS AllocGRES AllocNodes AllocTRES AssocID AveCPU AveCPUFreq AveDiskRead
    AveDiskWrite AvePages AveRSS AveVMSize BlockID Cluster Constraints ConsumedEnergy
    ConsumedEnergyRaw CPUTime CPUTimeRAW DBIndex DerivedExitCode Elapsed ElapsedRaw Eligible
    End ExitCode FailedNode Flags GID Group JobID JobIDRaw Layout Licenses MaxDiskRead
    MaxDiskReadNode MaxDiskReadTask MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask MaxPages
    MaxPagesNode MaxPagesTask MaxRSS MaxRSSNode MaxRSSTask MaxVMSize MaxVMSizeNode
    MaxVMSizeTask McsLabel MinCPU MinCPUNode MinCPUTask NCPUS NNodes NodeList NTasks
    OriginalSLUID Partition Planned PlannedCPU PlannedCPURAW Priority QOS QOSRAW QOSREQ Reason
    ReqCPUFreq ReqCPUFreqGov ReqCPUFreqMax ReqCPUFreqMin ReqCPUS ReqGRES ReqMem ReqNodes
    ReqReservation ReqTRES Reservation ReservationId Reserved Restarts ResvCPU ResvCPURAW
    SegmentSize SLUID Start State Submit Suspended SystemCPU Timelimit TimelimitRaw TotalCPU
    TRESUsageInAve TRESUsageInMax TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin
    TRESUsageInMinNode TRESUsageInMinTask TRESUsageInTot TRESUsageOutAve TRESUsageOutMax
    TRESUsageOutMaxNode TRESUsageOutMaxTask TRESUsageOutMin TRESUsageOutMinNode
    TRESUsageOutMinTask TRESUsageOutTot UID User UserCPU WCKey WCKeyID
"""
SACCT_FIELDS = FREE_TEXT | frozenset(_OTHER_FIELDS.split())
