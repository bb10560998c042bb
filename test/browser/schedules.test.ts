/** Schedules in the portal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEnvironment } from '../support/service/environment.ts'
import { assertAccessible, assertFits, assertQuiet, logIn, ownerOf, startBrowser, startService } from './portal.ts'

test('a schedule is made, paused, resumed and deleted in the portal', async (t) => {
  const service = await startService(t)
  const as = await service.login('owner')
  const environment = await createEnvironment(service, as)
  const [, account, , app, , id] = environment.name.split('/')
  const address = `/${account}/apps/${app}/environments/${id}/settings/schedules`
  const browser = await startBrowser(t, service)
  const page = await browser.open()
  await logIn(page, ownerOf(service), address)
  await page.getByText('No schedules yet').waitFor()
  await assertAccessible(page, 'no schedules')

  await page.getByRole('button', { name: 'New schedule' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('What').selectOption({ label: 'Clean Rebuild' })
  await form.getByLabel('When').selectOption({ label: 'By a cron expression' })
  await form.getByLabel('Cron expression').fill('61 3 * * *')
  await form.getByLabel('Time zone').fill('Europe/Berlin')
  await form.getByRole('button', { name: 'Create schedule' }).click()
  await form.getByText(/minute: 61/).waitFor()
  await assertAccessible(page, 'a refused schedule')
  await form.getByLabel('Cron expression').fill('30 3 * * *')
  await form.getByRole('button', { name: 'Create schedule' }).click()
  await form.waitFor({ state: 'detached' })

  const row = page.getByRole('row', { name: /30 3/ })
  await row.getByText(/03:30/).waitFor()
  await row.getByText('Europe/Berlin').waitFor()
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    await assertAccessible(page, `schedules, ${colorScheme}`)
  }
  await assertFits(page, 'schedules')
  await row.getByRole('button', { name: 'Pause 30 3 * * *' }).click()
  await row.getByText('Paused').waitFor()
  await row.getByRole('button', { name: 'Resume 30 3 * * *' }).click()
  await row.getByText(/03:30/).waitFor()
  const { json } = await service.call(`/v1/${environment.name}/schedules`, { as })
  assert.deepEqual(
    json.schedules.map(({ action, paused }: { action: string; paused: boolean }) => [action, paused]),
    [['CLEAN_REBUILD', false]],
  )

  await row.getByRole('button', { name: 'Delete 30 3 * * *' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete schedule' }).click()
  await page.getByText('No schedules yet').waitFor()
  assertQuiet(page)
})
