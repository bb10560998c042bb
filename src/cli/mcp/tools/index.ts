import type { Tool } from '../tool.ts'
import { BUILD_TOOLS } from './builds.ts'
import { CHANGING_TOOLS } from './changing.ts'
import { CREATING_TOOLS } from './creating.ts'
import { READING_TOOLS } from './reading.ts'

/** In the order in which clients show them, which is always the same. */
export const TOOLS: readonly Tool[] = [...READING_TOOLS, ...BUILD_TOOLS, ...CREATING_TOOLS, ...CHANGING_TOOLS]
