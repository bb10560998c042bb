import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { refresh } from './refresh.ts'

// Imported without its types, which depend on those of browsers.
const { QueryClient, QueryObserver } = createRequire(import.meta.url)('@tanstack/react-query')

/** A page with one query; the test answers each request by hand. */
function shown(queryKey: readonly unknown[]) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, gcTime: 0 } } })
  const asked: ((answer: string) => void)[] = []
  const more = new EventTarget()
  const queryFn = () =>
    new Promise<string>((resolve) => {
      asked.push(resolve)
      more.dispatchEvent(new Event('asked'))
    })
  const observer = new QueryObserver(client, { queryKey, queryFn, staleTime: 15_000 })
  const close = observer.subscribe(() => undefined)
  return {
    client,
    asked,
    close,
    nextAsked: () => once(more, 'asked'),
    async until(data: string) {
      while (observer.getCurrentResult().data !== data) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

test('what changes while it is fetched for the first time is fetched once more', async () => {
  const page = shown(['operation'])
  assert.equal(page.asked.length, 1)
  refresh(page.client, () => true)
  const again = page.nextAsked()
  page.asked[0]?.('QUEUED')
  await again
  page.asked[1]?.('DONE')
  await page.until('DONE')
  assert.equal(page.asked.length, 2)
  page.close()
})

test('what is shown already is fetched anew at once, and what is not meant is left alone', async () => {
  const page = shown(['operation'])
  page.asked[0]?.('QUEUED')
  await page.until('QUEUED')
  refresh(page.client, ({ queryKey }) => queryKey[0] === 'another')
  assert.equal(page.asked.length, 1)
  refresh(page.client, ({ queryKey }) => queryKey[0] === 'operation')
  assert.equal(page.asked.length, 2)
  page.asked[1]?.('DONE')
  await page.until('DONE')
  page.close()
})
