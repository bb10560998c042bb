/**
 * Node takes its heap by the memory of the machine, which is not what a program in a cage may have: it would be ended before
 * it even tries to do with less. A tenant's own NODE_OPTIONS takes the place of this.
 */
import type { Limits } from './limits/index.ts'

const SHARE = 0.75
const MEBIBYTE = 1024 ** 2

export const heapWithin = ({ memoryBytes }: Limits): { NODE_OPTIONS: string } => ({
  NODE_OPTIONS: `--max-old-space-size=${Math.floor((memoryBytes * SHARE) / MEBIBYTE)}`,
})
