/**
 * Every example is uploaded, planned as expected, built in the sandbox, and answers. What else real frameworks show on the
 * service is tested here too, in suites of their own: one service installs the packages of a framework once. Takes minutes:
 * `npm run test:frameworks`.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { contentHookSuite } from '../suites/content-hook.ts'
import { frameworkTrapsSuite } from '../suites/framework-traps.ts'
import { COHERENCE_EXAMPLES, nextCoherenceSuite } from '../suites/next-coherence.ts'
import { openPagesSuite } from '../suites/open-pages.ts'
import { serverFreshnessSuite } from '../suites/server-freshness.ts'
import { temporaryFolder } from '../support/folder.ts'
import { isLong } from '../support/long.ts'
import { startCms } from '../support/service/cms.ts'
import { type Deployed, deployExample, EXAMPLES, exampleNames, packagesOf } from '../support/service/examples.ts'
import { startService } from '../support/service/service.ts'

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})

// Only root can give this machine an address that builds reach.
const cms = process.getuid?.() === 0 ? await startCms(file) : undefined
const dataDir = await temporaryFolder(file)
const settings = {
  HEADLAND_CONCURRENCY: '2',
  HEADLAND_KEEP_DEPLOYMENTS: '1',
  // npm needs as much memory as a single package is large, if that compresses as well as the one of a trap.
  ...(isLong && { HEADLAND_BUILD_MEMORY: String(4 * 1024 ** 3) }),
  ...(cms && { HEADLAND_ALLOWED_NETWORKS: cms.network }),
}
const first = await startService(file, { dataDir, settings })
const place = {
  service: first,
  as: await first.login(),
  async restart() {
    assert.equal(await place.service.stop(), 0)
    place.service = await startService(file, { dataDir, settings })
  },
}

/** Only some, by name: HEADLAND_EXAMPLES=nuxt,astro. */
const chosen = process.env.HEADLAND_EXAMPLES?.split(',')
const isChosen = (name: string): boolean => chosen?.includes(name) ?? true

// First: a service that starts again starts every app.
if (cms) serverFreshnessSuite(place, cms, isChosen)

const names = (await exampleNames()).filter((name) => isChosen(name) && !COHERENCE_EXAMPLES.includes(name))

const deployed = new Map<string, Deployed>()

describe('every example', { concurrency: 2 }, async () => {
  for (const group of await withSamePackages(names))
    describe(group.join(', '), { concurrency: 1 }, () => {
      for (const name of group)
        test(`examples/${name} is uploaded, built in the sandbox and answers as expected`, async () => {
          deployed.set(name, await deployExample(place.service, place.as, name))
        })
    })
})

if (COHERENCE_EXAMPLES.every(isChosen)) nextCoherenceSuite(place)
openPagesSuite(file, place, isChosen)
contentHookSuite({
  isChosen,
  async packagesOf(name) {
    const example = deployed.get(name)
    return example && packagesOf(place.service, example)
  },
})
if (!chosen) frameworkTrapsSuite(file, place)

/** One after another, they are installed once. */
async function withSamePackages(examples: readonly string[]): Promise<string[][]> {
  const groups = new Map<string, string[]>()
  for (const name of examples) {
    const lockfile = await readFile(join(EXAMPLES, name, 'package-lock.json'), 'utf8').catch(() => name)
    groups.set(lockfile, [...(groups.get(lockfile) ?? []), name])
  }
  return [...groups.values()]
}
