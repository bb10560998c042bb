import type { resources } from '../../../contract/index.ts'

/** By the words that are typed. */
export const KINDS = { build: 'BUILD', purge: 'PURGE' } as const satisfies Record<string, resources.PublishKind>
