/** Makes the changes of a plan. Each of them may have been made already, by this process or by one that died. */
import type { DesiredApp } from './desired.ts'
import type { Docker } from './docker/client.ts'
import { isInUse, isMissing, isTaken } from './docker/failure.ts'
import type { Service, ServiceSpec, SwarmSecret } from './docker/types.ts'
import { variableParts } from './launch.ts'
import { LABELS, labelsOf, secretName } from './names.ts'
import type { Change } from './plan.ts'
import { specOf } from './spec.ts'

export type WritingDocker = Pick<
  Docker,
  'secrets' | 'createSecret' | 'removeSecret' | 'createService' | 'changeService' | 'removeService'
>

type Parts = {
  docker: WritingDocker
  cluster: string
  /** Read when they are needed, and kept nowhere. */
  variables(app: DesiredApp): Promise<Readonly<Record<string, string>>>
  /** Asked before each write. */
  mayWrite(): Promise<boolean>
}

/** Another process does the work now. */
export class WriteFenced extends Error {
  constructor() {
    super('this process may not change the swarm any more')
    this.name = 'WriteFenced'
  }
}

export function createApply({ docker, cluster, variables, mayWrite }: Parts) {
  async function write<T>(make: () => Promise<T>): Promise<T> {
    if (!(await mayWrite())) throw new WriteFenced()
    return make()
  }

  const change = (service: string, to: (service: Service) => ServiceSpec | undefined) =>
    // Asked again where another writer came between and it is tried again, too.
    write(() => docker.changeService(service, to))

  async function secretsFor(app: DesiredApp, known: readonly SwarmSecret[]) {
    const texts = variableParts(await variables(app))
    const references: { id: string; name: string }[] = []
    for (const [part, text] of texts.entries()) {
      const name = secretName(cluster, app, part)
      const id = known.find(({ Spec }) => Spec.Name === name)?.ID ?? (await makeSecret(app, name, text))
      references.push({ id, name })
    }
    return references
  }

  async function makeSecret(app: DesiredApp, name: string, text: Buffer): Promise<string> {
    try {
      return (await write(() => docker.createSecret(name, labelsOf(cluster, app), text))).ID
    } catch (error) {
      if (!isTaken(error)) throw error
      const found = (await docker.secrets({ name: [name] })).find(({ Spec }) => Spec.Name === name)
      if (!found) throw error
      return found.ID
    }
  }

  /** Resolves to the service that was changed, where one was. */
  return async function apply(made: Change): Promise<string | undefined> {
    switch (made.kind) {
      case 'create': {
        const spec = specOf(made.app, { cluster, secrets: await secretsFor(made.app, made.secrets) })
        return (await write(() => docker.createService(spec)).catch(unless(isTaken)))?.ID
      }
      case 'replace': {
        const spec = specOf(made.app, { cluster, secrets: await secretsFor(made.app, made.secrets) })
        await change(made.service, ({ Spec: before }) => ({
          ...spec,
          TaskTemplate: { ...spec.TaskTemplate, ForceUpdate: before.TaskTemplate.ForceUpdate ?? 0 },
        })).catch(unless(isMissing))
        return made.service
      }
      case 'scale':
        await change(made.service, ({ Spec: spec }) =>
          spec.Mode.Replicated?.Replicas === made.replicas
            ? undefined
            : { ...spec, Mode: { Replicated: { Replicas: made.replicas } } },
        ).catch(unless(isMissing))
        return made.service
      case 'retry':
        await change(made.service, ({ Spec: spec }) => ({
          ...spec,
          Labels: { ...spec.Labels, [LABELS.retries]: String(made.retries) },
          TaskTemplate: { ...spec.TaskTemplate, ForceUpdate: (spec.TaskTemplate.ForceUpdate ?? 0) + 1 },
        })).catch(unless(isMissing))
        return made.service
      case 'remove':
        await write(() => docker.removeService(made.service)).catch(unless(isMissing))
        return undefined
      case 'removeSecret':
        // Where a service has just begun to use it again, the next round decides.
        await write(() => docker.removeSecret(made.secret)).catch(unless(isMissing, isInUse))
        return undefined
    }
  }
}

const unless =
  (...kinds: ((error: unknown) => boolean)[]) =>
  (error: unknown): undefined => {
    if (!kinds.some((isKind) => isKind(error))) throw error
  }
