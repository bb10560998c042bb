/**
 * Every example is uploaded, planned as expected, built in the sandbox, and answers. Takes minutes: `npm run
 * test:frameworks`.
 */
import { after, test } from 'node:test'
import { deployExample, exampleNames } from '../support/service/examples.ts'
import { startService } from '../support/service/service.ts'

const ends: (() => unknown)[] = []
const service = await startService({ after: (end: () => unknown) => void ends.unshift(end) })
after(async () => {
  for (const end of ends) await end()
})
const as = await service.login()

/** Only some, by name: HEADLAND_EXAMPLES=nuxt,astro. */
const chosen = process.env.HEADLAND_EXAMPLES?.split(',')

for (const name of chosen ?? (await exampleNames())) {
  test(`examples/${name} is uploaded, built in the sandbox and answers as expected`, async () => {
    await deployExample(service, as, name)
  })
}
