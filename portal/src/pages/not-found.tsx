/** Shown for an unknown address, or for a resource that was deleted. */
import { Link } from 'wouter'
import { Empty } from '../components/feedback/empty.tsx'
import { Page } from '../components/layout/page.tsx'

type Props = { title?: string; detail?: string }

export function NotFound({ title = 'There is nothing here', detail = 'It may have been deleted.' }: Props) {
  return (
    <Page title={title}>
      <Empty title={detail}>
        <Link href="/">Go to the apps</Link>
      </Empty>
    </Page>
  )
}
