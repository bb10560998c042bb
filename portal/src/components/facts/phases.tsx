/** The steps of a build or another operation as a bar: what is done, what runs, where it stopped. */
import { PHASE_WORDS, type Step } from '../../api/live/state.ts'
import { Icon, type IconName } from '../layout/icon.tsx'
import { duration } from './format.ts'
import css from './phases.module.css'

const SIGNS: Record<Step['state'], { icon: IconName; word: string }> = {
  done: { icon: 'check', word: 'done' },
  now: { icon: 'spinner', word: 'running' },
  ahead: { icon: 'circle', word: 'not yet' },
  failed: { icon: 'cross', word: 'stopped here' },
  skipped: { icon: 'circle', word: 'not reached' },
}

export function Phases({ steps, label = 'Steps' }: { steps: readonly Step[]; label?: string }) {
  return (
    <ol className={css.phases} aria-label={label}>
      {steps.map(({ phase, state, seconds }) => (
        <li key={phase} className={`${css.step} ${css[state]}`} aria-current={state === 'now' ? 'step' : undefined}>
          <span className={css.bar} />
          <span className={css.words}>
            <Icon name={SIGNS[state].icon} size={14} className={state === 'now' ? css.spin : undefined} />
            <span>{PHASE_WORDS[phase]}</span>
            <span className="sr-only">, {SIGNS[state].word}</span>
          </span>
          <span className={css.time}>{seconds === undefined ? '' : duration(seconds)}</span>
        </li>
      ))}
    </ol>
  )
}
