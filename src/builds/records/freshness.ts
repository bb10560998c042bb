/**
 * Which of Purge Cache, Rebuild and Clean Rebuild publishes new content, depending on what an environment runs. The portal
 * and the command line show these sentences; docs/guides/caching.md has the same table.
 */
import type { resources } from '../../contract/index.ts'
import type { Plan } from '../plan/plan.ts'

/** The variable by which a plan switches on the hook in Next.js's own cache, and an app switches it off. */
export const NEXT_HOOK = 'HEADLAND_NEXT_COHERENCE'

type What = Pick<Plan, 'framework' | 'output'>

/** `own` are the variables that the tenant has set. */
export function freshnessOf({ framework, output }: What, own: Readonly<Record<string, string>>): resources.Freshness {
  if (output.kind === 'static') return ADVICE.files
  const isHooked = { ...output.environment, ...own }[NEXT_HOOK] === 'on'
  if (isHooked) return ADVICE.hooked
  return framework === 'nextjs' ? ADVICE.unhooked : ADVICE.server
}

const ADVICE = {
  files: {
    purge: 'NOTHING',
    advice:
      'The site consists of files that the build made. Rebuild to publish new content. Purge Cache changes nothing here.',
  },
  hooked: {
    purge: 'PAGES',
    advice:
      'Purge Cache to publish new content: Next.js makes each page anew for its next visitor. Rebuild if the content decides which pages exist.',
  },
  unhooked: {
    purge: 'EDGE',
    advice: `Rebuild to publish new content. Purge Cache does not reach the pages that Next.js keeps while ${NEXT_HOOK} is not "on".`,
  },
  server: {
    purge: 'EDGE',
    advice:
      'Purge Cache if the app reads its content for each request. Rebuild if the build made the pages, or if the app keeps content itself.',
  },
} as const satisfies Record<string, resources.Freshness>
