/** A choice among a few views, as links: each view has an address. */
import { Link } from 'wouter'
import css from './choices.module.css'

type Choice = { text: string; href: string; isChosen: boolean /** How many it leads to. */; count?: number }

export function Choices({ label, choices }: { label: string; choices: readonly Choice[] }) {
  return (
    <nav aria-label={label} className={css.choices}>
      {choices.map(({ text, href, isChosen, count }) => (
        <Link key={text} href={href} className={css.choice} aria-current={isChosen ? 'true' : undefined}>
          {text}
          {count !== undefined && <span className={css.count}> {count}</span>}
        </Link>
      ))}
    </nav>
  )
}
