/**
 * Node sizes its heap by the memory of the machine. A program in a cgroup would be killed at its limit before Node even tries to
 * collect garbage, so the heap is limited, too. A tenant's own NODE_OPTIONS replaces this.
 */
import type { Limits } from './limits/index.ts'

const SHARE = 0.75
const MEBIBYTE = 1024 ** 2

export const heapWithin = ({ memoryBytes }: Limits): { NODE_OPTIONS: string } => ({
  NODE_OPTIONS: `--max-old-space-size=${Math.floor((memoryBytes * SHARE) / MEBIBYTE)}`,
})
