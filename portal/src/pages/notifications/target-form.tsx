/** Makes a target, or changes one. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction, useApps } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import type { IssuedNotificationTarget, NoticeKind, NotificationTarget, TargetKind } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { Form, isAllInFields, SelectField, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useSession } from '../../session/session.tsx'
import { NoticeChoice } from './notice-choice.tsx'
import { addressesIn, FIRST_CHOICE, TARGETS, typedNotices } from './words.ts'

const ALL_APPS = ''
const FIELDS = ['displayName', 'url', 'addresses', 'apps']

type Props = {
  path: string
  /** The one that is changed. */
  target?: NotificationTarget
  onClose(): void
  onSaved(target: IssuedNotificationTarget): void
}

export function TargetForm({ path, target, onClose, onSaved }: Props) {
  const { account, isOperator } = useSession()
  const apps = useApps(account) ?? []
  const [kind, setKind] = useState<TargetKind>(target?.kind ?? 'SLACK')
  const [displayName, setDisplayName] = useState(target?.displayName ?? '')
  const [address, setAddress] = useState(target?.addresses?.join(', ') ?? '')
  const [kinds, setKinds] = useState<NoticeKind[]>(() => [
    ...(target?.noticeKinds ?? FIRST_CHOICE.filter((one) => isOperator || one !== 'DISK_NEARLY_FULL')),
  ])
  const [app, setApp] = useState(target?.apps[0] ?? ALL_APPS)
  const { word, address: addressLabel, help } = TARGETS[kind]
  const isEmail = kind === 'EMAIL'
  const isAddressKept = target !== undefined && address === ''
  // A list of several, which was set by the API, stays as it is.
  const isSeveral = (target?.apps.length ?? 0) > 1
  const body = {
    displayName: displayName.trim() || word,
    ...(target ? { etag: target.etag } : { kind }),
    ...(isAddressKept ? {} : isEmail ? { addresses: addressesIn(address) } : { url: address.trim() }),
    noticeKinds: kinds,
    ...(isSeveral ? {} : { apps: app === ALL_APPS ? [] : [app] }),
  }
  const method = target ? 'PATCH' : 'POST'
  const at = `/v1/${target?.name ?? path}`
  const save = useAction(() => call<IssuedNotificationTarget>(at, { method, body }), { refreshes: [path] })
  const title = target ? `Change ${target.displayName}` : 'New target'

  async function submit() {
    const saved = await save.run()
    if (saved) onSaved(saved)
  }

  return (
    <Dialog title={title} onClose={onClose}>
      <Form label={title} onSubmit={submit}>
        {!target && (
          <SelectField
            label="Kind"
            name="kind"
            value={kind}
            onChange={(event) => {
              save.reset()
              setKind(event.target.value as TargetKind)
            }}
            options={Object.entries(TARGETS).map(([value, { word: text }]) => ({ value, text }))}
          />
        )}
        <TextField
          label={addressLabel}
          name={isEmail ? 'addresses' : 'url'}
          value={address}
          onChange={(event) => setAddress(event.target.value)}
          problem={save.problem}
          autoComplete="off"
          placeholder={target && !isEmail ? `as it is, at ${target.host}` : undefined}
          hint={help}
        />
        <TextField
          label="Name"
          name="displayName"
          value={displayName}
          onChange={(event) => setDisplayName(event.target.value)}
          problem={save.problem}
          maxLength={100}
          placeholder={word}
          autoComplete="off"
        />
        <NoticeChoice kinds={kinds} isOperator={isOperator} onChange={setKinds} />
        {apps.length > 0 && !isSeveral && (
          <SelectField
            label="About"
            name="apps"
            value={app}
            onChange={(event) => setApp(event.target.value)}
            problem={save.problem}
            options={[
              { value: ALL_APPS, text: 'All apps' },
              ...apps.map(({ name }) => appOf(name)).map((text) => ({ value: text, text: `Only ${text}` })),
            ]}
          />
        )}
        {!isAllInFields(save.problem, FIELDS) && <ProblemNote problem={save.problem} />}
        <Curl
          command={target ? undefined : commandOf({ account, kind, name: body.displayName, kinds, app })}
          method={method}
          path={at}
          body={{ ...body, ...('url' in body ? { url: '…' } : {}) }}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            busy={save.isBusy}
            disabled={kinds.length === 0 || (address.trim() === '' && !isAddressKept)}
          >
            {target ? 'Save' : 'Create target'}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}

const appOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

type Command = { account: string; kind: TargetKind; name: string; kinds: readonly NoticeKind[]; app: string }

/** The address is read from the terminal, so that it is in no history. */
function commandOf({ account, kind, name, kinds, app }: Command): string {
  const about = typedNotices(kinds).map((word) => ` --about ${word}`)
  const only = app === ALL_APPS ? undefined : app
  const words = ['notifications', 'create', kind.toLowerCase()]
  return `${headland(words, { name, 'only-app': only, account })}${about.join('')}`
}
