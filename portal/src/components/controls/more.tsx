/** The rest of a list, a page at a time. */
import type { LoadedList } from '../../api/data.ts'
import { Button } from './button.tsx'

type MoreProps = { of: Pick<LoadedList<unknown>, 'hasMore' | 'isLoadingMore' | 'loadMore'>; children: string }

export function More({ of: { hasMore, isLoadingMore, loadMore }, children }: MoreProps) {
  if (!hasMore) return null
  return (
    <div>
      <Button busy={isLoadingMore} onClick={loadMore}>
        {children}
      </Button>
    </div>
  )
}
