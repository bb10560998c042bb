/** Every framework, in the order in which they are asked: whoever is built on top of others comes before them. */
import type { Framework } from './framework.ts'
import { next } from './next.ts'
import { node } from './node.ts'
import { staticFiles } from './static.ts'
import { unknown } from './unknown.ts'
import { vite } from './vite.ts'

export const FRAMEWORKS: readonly Framework[] = [next, vite, node, staticFiles, unknown]
