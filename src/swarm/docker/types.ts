/** The parts of Docker's JSON that the service reads and writes, in Docker's own spelling (Engine API 1.44). */

export type Labels = Readonly<Record<string, string>>
export type Version = { Index: number }

export type SecretReference = {
  SecretID: string
  SecretName: string
  File: { Name: string; UID: string; GID: string; Mode: number }
}

export type MountSpec = { Type: 'tmpfs'; Target: string; TmpfsOptions: { SizeBytes: number; Mode: number } }

export type ContainerSpec = {
  Image: string
  Labels?: Labels
  Command?: readonly string[]
  Args?: readonly string[]
  User?: string
  ReadOnly?: boolean
  Init?: boolean
  StopGracePeriod?: number
  CapabilityDrop?: readonly string[]
  Privileges?: { NoNewPrivileges: boolean; Seccomp: { Mode: string; Profile?: string } }
  Healthcheck?: { Test: readonly string[] }
  Mounts?: readonly MountSpec[]
  Secrets?: readonly SecretReference[]
}

/** One that runs on the engine's own machine. */
export type Container = { Id: string; Labels?: Labels }

/** What the kernel counts for it, by the names of its first or second version of control groups. */
export type ContainerMemory = { stats?: Readonly<Record<string, number>> }

export type TaskSpec = {
  ContainerSpec: ContainerSpec
  Resources?: {
    Limits: { MemoryBytes: number; NanoCPUs: number; Pids: number }
    Reservations: { MemoryBytes: number }
  }
  RestartPolicy?: { Condition: string; Delay: number; MaxAttempts: number; Window: number }
  Placement?: { Constraints: readonly string[] }
  Networks?: readonly { Target: string }[]
  LogDriver?: { Name: string; Options: Readonly<Record<string, string>> }
  /** A change of it replaces the tasks. */
  ForceUpdate?: number
}

export type ServiceSpec = {
  Name: string
  Labels: Labels
  TaskTemplate: TaskSpec
  Mode: { Replicated?: { Replicas: number } }
  UpdateConfig?: { Parallelism: number; Order: string; FailureAction: string }
  EndpointSpec?: {
    Mode: string
    Ports: readonly { Protocol: string; TargetPort: number; PublishMode: string }[]
  }
}

export type Service = { ID: string; Version: Version; UpdatedAt: string; Spec: ServiceSpec }

export type Task = {
  ID: string
  ServiceID: string
  Slot?: number
  NodeID?: string
  CreatedAt: string
  DesiredState: string
  Status: {
    Timestamp: string
    State: string
    Message?: string
    Err?: string
    ContainerStatus?: { ContainerID?: string; ExitCode?: number }
    PortStatus?: { Ports?: readonly { TargetPort: number; PublishedPort: number }[] | null }
  }
}

export type SwarmSecret = { ID: string; Spec: { Name: string; Labels?: Labels } }

export type SwarmNode = {
  ID: string
  Version: Version
  Spec: { Availability: 'active' | 'pause' | 'drain'; Role: string; Labels?: Labels; Name?: string }
  Description: { Hostname: string; Engine: { EngineVersion: string } }
  Status: { State: string; Addr?: string }
  ManagerStatus?: { Addr: string }
}

export type Network = { Id: string; Name: string; Scope: string; ConfigOnly?: boolean; Labels?: Labels | null }

export type NetworkSpec = {
  Name: string
  Driver?: string
  Scope?: string
  ConfigOnly?: boolean
  ConfigFrom?: { Network: string }
  Labels?: Labels
  Options?: Readonly<Record<string, string>>
  IPAM?: { Config: readonly { Subnet: string }[] }
}

export type SwarmCluster = {
  ID: string
  Version: Version
  Spec: { Orchestration?: { TaskHistoryRetentionLimit?: number } }
}

export type EngineInfo = {
  /** The name of the machine. */
  Name: string
  MemTotal: number
  ServerVersion: string
  Swarm: { LocalNodeState: string; ControlAvailable: boolean; NodeID: string; NodeAddr: string }
}
