/** A placeholder in the size of what is being fetched, so that nothing moves when it arrives. */
import css from './skeleton.module.css'

/** In characters: about as wide as the text will be. Shown after a short delay, as most responses arrive earlier. */
export function Skeleton({ width = 12 }: { width?: number }) {
  return <span className={css.skeleton} style={{ width: `${width}ch` }} aria-hidden="true" />
}

/** Rows of the height that list rows have. */
export function SkeletonRows({ count = 3, height = 44 }: { count?: number; height?: number }) {
  return (
    <div className={css.rows} role="status">
      <span className="sr-only">Loading</span>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all rows are the same
        <div key={index} className={css.row} style={{ height }}>
          <Skeleton width={20 + ((index * 7) % 16)} />
        </div>
      ))}
    </div>
  )
}
