/** Stands where a page will be. It says so, and where the same can be done today. */
import { Empty } from '../parts/empty.tsx'
import { Page } from '../parts/page.tsx'

export function NotYet({ title }: { title: string }) {
  return (
    <Page title={title}>
      <Empty title="This page is not here yet">
        The API can do it already: see the <a href="/docs">reference</a>.
      </Empty>
    </Page>
  )
}
