/** Chooses a role, with its permissions beside each. */
import { useId } from 'react'
import type { Role } from '../../api/types.ts'
import css from '../../components/controls/option-list.module.css'
import { ROLES } from './roles.ts'

export function RoleChoice({ role, onChange }: { role: Role; onChange(role: Role): void }) {
  const id = useId()
  return (
    <fieldset className={css.choice}>
      <legend className={css.legend}>Role</legend>
      {ROLES.map((each) => (
        <label key={each.role} className={css.option}>
          <input
            type="radio"
            name={id}
            value={each.role}
            checked={each.role === role}
            onChange={() => onChange(each.role)}
          />
          <span>
            <span className={css.word}>{each.word}</span>
            <span className={css.about}>{each.about}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
