/** The CMS was down, and the build was made from content that an earlier build had recorded. */
import { Link } from 'wouter'
import { idOf, type Place, shortId } from '../../api/names.ts'
import type { Build } from '../../api/types.ts'
import { Time } from '../../components/facts/time.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { environmentPath } from '../../paths.ts'
import css from './failure.module.css'

export function FromSnapshotNote({ place, build: { fromSnapshot } }: { place: Place; build: Build }) {
  if (!fromSnapshot) return null
  const { build, time, message } = fromSnapshot
  return (
    <section className={css.first} aria-label="Built from a content snapshot">
      <Icon name="warning" />
      <p>
        {message} So this build has the content of <Time at={time} />, which{' '}
        <Link href={environmentPath(place, `builds/${idOf(build)}`)}>build {shortId(build)}</Link> recorded. It is built
        again when the CMS is back.
      </p>
    </section>
  )
}
