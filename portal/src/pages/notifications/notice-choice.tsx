/** Chooses what a target is told about. */
import type { NoticeKind } from '../../api/types.ts'
import css from '../../components/controls/option-list.module.css'
import { NOTICES } from './words.ts'

type Props = { kinds: readonly NoticeKind[]; isOperator: boolean; onChange(kinds: NoticeKind[]): void }

export function NoticeChoice({ kinds, isOperator, onChange }: Props) {
  const shown = NOTICES.filter(({ kind }) => isOperator || kind !== 'DISK_NEARLY_FULL' || kinds.includes(kind))
  const toggle = (kind: NoticeKind, isOn: boolean) =>
    onChange(isOn ? [...kinds, kind] : kinds.filter((each) => each !== kind))
  return (
    <fieldset className={css.choice}>
      <legend className={css.legend}>Tell it when</legend>
      {shown.map(({ kind, word, about }) => (
        <label key={kind} className={css.option}>
          <input
            type="checkbox"
            checked={kinds.includes(kind)}
            onChange={(event) => toggle(kind, event.target.checked)}
          />
          <span>
            <span className={css.word}>{word}</span>
            <span className={css.about}>{about}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
