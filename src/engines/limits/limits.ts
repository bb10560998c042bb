/** What a job may use at most, and which of these limits it reached. */

export type Limits = {
  /** Of all its processes together, with what it writes to /tmp inside of a sandbox. */
  memoryBytes: number
  /** Threads count too: an ordinary Node process has eleven. */
  processes: number
  /** Against the other jobs, when all want the processor: 100 is ordinary. */
  cpuWeight: number
  /** In each process. */
  openFiles: number
  /** The largest file that it may write. */
  fileBytes: number
  /** Everything in the folders that it writes to, together. */
  diskBytes: number | null
  /** Files, folders and links in them, together: each takes an inode, of which a disk has a fixed number. */
  diskFiles: number | null
}

/** The limit that was reached. `fullDisk`: the machine's disk was nearly full, and the job had written the most. */
export type Excess = 'memory' | 'processes' | DiskExcess

export type DiskExcess = 'disk' | 'files' | 'fullDisk'
