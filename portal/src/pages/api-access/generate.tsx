/** Generates API access: a user id and a password for a program. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import type { IssuedCredential, Role } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { Form, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { RoleChoice } from '../users/role-choice.tsx'

type Props = { account: string; onClose(): void; onIssued(credential: IssuedCredential): void }

export function Generate({ account, onClose, onIssued }: Props) {
  const [displayName, setDisplayName] = useState('')
  const [role, setRole] = useState<Role>('developer')
  const path = `/v1/accounts/${account}/credentials`
  const body = { displayName: displayName.trim(), role }
  const generate = useAction(() => call<IssuedCredential>(path, { method: 'POST', body }), {
    refreshes: [`accounts/${account}/credentials`],
  })

  async function submit() {
    const issued = await generate.run()
    if (issued) onIssued(issued)
  }

  return (
    <Dialog title="Generate API access" onClose={onClose}>
      <Form label="Generate API access" onSubmit={submit}>
        <TextField
          label="Name"
          name="displayName"
          value={displayName}
          onChange={(event) => setDisplayName(event.target.value)}
          problem={generate.problem}
          maxLength={100}
          autoComplete="off"
          required
          hint="What uses it, so that you know later what stops when you revoke it."
        />
        <RoleChoice role={role} onChange={setRole} />
        {!isAllInFields(generate.problem, ['displayName']) && <ProblemNote problem={generate.problem} />}
        <Curl
          command={headland(['credentials', 'create'], { account, role })}
          isOfOperator
          method="POST"
          path={path}
          body={body}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={generate.isBusy} disabled={body.displayName === ''}>
            Generate
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
