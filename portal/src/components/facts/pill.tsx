/** A state as a word, with an icon and a colour of the same meaning: never the colour alone (WCAG 1.4.1). */
import type { ReactNode } from 'react'
import { Icon, type IconName } from '../layout/icon.tsx'
import css from './pill.module.css'

export type Tone = 'good' | 'busy' | 'bad' | 'warn' | 'idle'

const ICONS: Record<Tone, IconName> = { good: 'check', busy: 'spinner', bad: 'cross', warn: 'warning', idle: 'circle' }

type Props = { tone: Tone; icon?: IconName | undefined; children: ReactNode }

export function Pill({ tone, icon, children }: Props) {
  return (
    <span className={`${css.pill} ${css[tone]}`}>
      <Icon name={icon ?? ICONS[tone]} size={14} className={tone === 'busy' ? css.spin : undefined} />
      {children}
    </span>
  )
}
