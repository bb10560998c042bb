/** The time of each phase of a build, as a proportional bar and as numbers. */
import { PHASE_WORDS } from '../../api/live/state.ts'
import css from './time-bar.module.css'
import type { PhaseTime } from './times.ts'

export function TimeBar({ times }: { times: readonly PhaseTime[] }) {
  return (
    <div className={css.times}>
      {/* The list below says it in words. */}
      <div className={css.bar} aria-hidden="true">
        {times.map(({ phase, share, isWhereItStopped }) => (
          <span
            key={phase}
            className={`${css.part} ${css[phase]} ${isWhereItStopped ? css.stopped : ''}`}
            style={{ flexGrow: share }}
          />
        ))}
      </div>
      <ul className={css.legend} aria-label="Time of each phase">
        {times.map(({ phase, words, percent, isWhereItStopped }) => (
          <li key={phase} className={css.entry}>
            <span className={`${css.swatch} ${css[phase]} ${isWhereItStopped ? css.stopped : ''}`} aria-hidden="true" />
            <span>
              {phase === 'OTHER' ? 'Between phases' : PHASE_WORDS[phase]}
              {isWhereItStopped && <strong>, stopped here</strong>}
            </span>
            <span className={css.seconds}>
              {words}
              <span className={css.share}>{percent} %</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
