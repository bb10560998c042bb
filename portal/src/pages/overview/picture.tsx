/** What visitors see of a site, and a way to it. While the first picture is being taken, its place is kept. */
import type { SitePicture } from '../../api/site-picture.ts'
import css from './picture.module.css'

type Props = { picture: SitePicture /** The site, as people call it. */; name: string; url: string }

export function Picture({ picture: { source }, name, url }: Props) {
  if (source === undefined) return <p className={css.awaited}>A picture is being taken</p>
  return (
    <a className={css.link} href={url} target="_blank" rel="noopener noreferrer">
      <img
        className={css.picture}
        src={source}
        alt={`${name} as visitors see it; opens the site`}
        width={1280}
        height={800}
        loading="lazy"
        decoding="async"
      />
    </a>
  )
}
