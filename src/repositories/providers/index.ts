import { bitbucket } from './bitbucket.ts'
import { gitea } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import type { Provider, ProviderName } from './provider.ts'

export { apiBaseOf, providerOf } from './address.ts'
export { newHookSecret } from './proof.ts'
export {
  type BranchChange,
  type CommitStatus,
  type HookEvent,
  type HttpCall,
  PROVIDERS,
  type Provider,
  type ProviderName,
} from './provider.ts'

const BY_NAME: Record<ProviderName, Provider> = { GITHUB: github, GITLAB: gitlab, GITEA: gitea, BITBUCKET: bitbucket }

export const providerNamed = (name: ProviderName): Provider => BY_NAME[name]
