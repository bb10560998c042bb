/** The app as a remote of git: its address, and the commands of a first push. */
import type { Environment } from '../../api/types.ts'
import { CopyText } from '../../components/controls/copy.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'

type Props = { account: string; app: string; environments: readonly Environment[] }

/** The branch of an environment that no push deploys to. */
const NONE = 'uploadable'

export function Push({ account, app, environments }: Props) {
  const remote = `${location.origin}/git/${account}/${app}.git`
  const named = environments.filter(({ branch }) => branch !== NONE)
  return (
    <Panel title="Push with git">
      <Facts>
        <Fact name="Remote">
          <CopyText text={remote} what="the address of the remote" />
        </Fact>
        <Fact name="Add it once">
          <CopyText text={`git remote add live ${remote}`} what="the command" />
        </Fact>
        {named.map(({ name, displayName, branch }) => (
          <Fact key={name} name={`To ${displayName}`}>
            <CopyText text={`git push live ${branch}`} what="the command" />
          </Fact>
        ))}
      </Facts>
      {named.length === 0 && (
        <p>No environment names a branch yet. Give one a git branch in its settings, and pushes to it are deployed.</p>
      )}
      <p>Git asks for the user id and the password of API access with the role developer or owner.</p>
    </Panel>
  )
}
