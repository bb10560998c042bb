/** Made by scripts/client.ts from the OpenAPI document of this version. Do not edit. */

/** An account that the caller belongs to, with the caller's role. */
export type Account = {
  /** `accounts/{account}` */
  name: string

  /** What the caller may do: read, write, or also hand out access. */
  role: 'viewer' | 'developer' | 'owner'
}

export type AccountList = {
  accounts: Account[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type AccountUsage = {
  /** `accounts/{account}/usage` */
  name: string

  /** All kinds together; what several environments share counts once. */
  bytes: number

  /** How much the account may hold; 0 where there is no limit. */
  limitBytes: number

  /** Files, folders and links; what several environments share counts once. */
  files: number

  /** How many the account may hold; 0 where there is no limit. */
  limitFiles: number
  kinds: {
    /** ARCHIVES that a rebuild may start from; REPOSITORIES, what was pushed to apps, which no environment has for itself; SNAPSHOTS of content that builds got from a CMS; OUTPUTS of deployments that can be made live; installed PACKAGES; CACHES of builds; LOGS; what apps write in RUNS, with what they keep in the key-value store. */
    kind: 'ARCHIVES' | 'REPOSITORIES' | 'SNAPSHOTS' | 'OUTPUTS' | 'PACKAGES' | 'CACHES' | 'LOGS' | 'RUNS'
    bytes: number
  }[]

  /** Those that hold the most, with what they share. */
  environments: { environment: string; displayName: string; bytes: number }[]

  /** What else is limited for an account. */
  ceilings: Counted[]
}

export type Activity = {
  /** `accounts/…/environments/{environment}/activity` */
  name: string

  /** The deployment that is live, or empty. */
  deployment: string

  /** When that went live first. */
  liveTime?: string

  /** The commit that it was built from, where that is known. */
  commit: Commit | null

  /** The state of its app. Absent for files, and where nothing is live. */
  instance?: 'STARTING' | 'RUNNING' | 'ASLEEP' | 'RESTARTING' | 'CRASH_LOOP'

  /** What its processes use, as it was last measured; 0 without any. */
  memoryBytes: number

  /** The visits of the last whole minute and of the current one. The edges report them every few seconds. */
  points: TrafficPoint[]
}

export type ActivityList = {
  activity: Activity[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type AddedUser = {
  /** `accounts/{account}/users/{user}` */
  name: string
  email: string

  /** What the caller may do: read, write, or also hand out access. */
  role: 'viewer' | 'developer' | 'owner'

  /** `INVITED` until an existing user has accepted the invitation: until then they have no access. */
  state: 'ACTIVE' | 'INVITED'

  /** When the user was invited or added to the account. */
  createTime: string

  /** The password of a new user, shown only once. An existing user keeps theirs. */
  password?: string
}

export type App = {
  /** `accounts/{account}/apps/{app}` */
  name: string

  /** Where all environments of the app are hosted. */
  region: 'regions/US-C' | 'regions/AUS-SE' | 'regions/UK' | 'regions/EU-W'

  /** Empty object: the app is fed by archive upload. */
  uploadable: Record<string, never>
  previews: PreviewSettings

  /** When it was created. */
  createTime: string

  /** It differs after every change of the app itself, and for another app of the same name. */
  etag: string
}

export type AppList = {
  apps: App[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type AskedContent = {
  method: string

  /** Without values that may be secrets. */
  url: string

  /** What a query of GraphQL asks for, in short. */
  query?: string
  status: number
}

export type AuditActor = {
  kind: 'USER' | 'CREDENTIAL' | 'WEBHOOK' | 'SCHEDULE' | 'REPOSITORY' | 'APP' | 'SERVICE' | 'OPERATOR'

  /** As it was at that time: the e-mail address of a user, the displayName of a credential, the user of the machine who ran a command of the operator. */
  name: string
}

export type AuditEvent = {
  /** What people called it then: the displayName of its environment or credential, the e-mail address of a user. Empty if its name says it all. */
  title: string

  /** `accounts/{account}/auditEvents/{auditEvent}` */
  name: string

  /** When it was done. */
  time: string
  action:
    | 'CREATE_APP'
    | 'CHANGE_APP'
    | 'DELETE_APP'
    | 'CREATE_ENVIRONMENT'
    | 'CHANGE_ENVIRONMENT'
    | 'DELETE_ENVIRONMENT'
    | 'OPEN_PREVIEW'
    | 'UPLOAD'
    | 'PUSH'
    | 'REBUILD'
    | 'CANCEL'
    | 'ACTIVATE'
    | 'PROMOTE'
    | 'UNPIN'
    | 'PURGE_CACHE'
    | 'CHANGE_DOMAINS'
    | 'UPLOAD_CERTIFICATE'
    | 'DELETE_CERTIFICATE'
    | 'RETRY_CERTIFICATE'
    | 'CREATE_WEBHOOKS'
    | 'CHANGE_WEBHOOKS'
    | 'REGENERATE_WEBHOOKS'
    | 'DELETE_WEBHOOKS'
    | 'CREATE_SCHEDULE'
    | 'CHANGE_SCHEDULE'
    | 'DELETE_SCHEDULE'
    | 'CONNECT_REPOSITORY'
    | 'CHANGE_REPOSITORY'
    | 'REGENERATE_REPOSITORY_SECRET'
    | 'FETCH_REPOSITORY'
    | 'DISCONNECT_REPOSITORY'
    | 'CREATE_NOTIFICATION_TARGET'
    | 'CHANGE_NOTIFICATION_TARGET'
    | 'REGENERATE_NOTIFICATION_SECRET'
    | 'DELETE_NOTIFICATION_TARGET'
    | 'CREATE_CREDENTIAL'
    | 'DELETE_CREDENTIAL'
    | 'ADD_USER'
    | 'CHANGE_ROLE'
    | 'REMOVE_USER'
    | 'ACCEPT_INVITATION'
    | 'DECLINE_INVITATION'
    | 'LOG_IN'
    | 'CHANGE_PASSWORD'
    | 'RESET_PASSWORD'
    | 'CREATE_ACCOUNT'
    | 'CHANGE_CMS'

  /** The name of what was changed. It may be gone. */
  resource: string

  /** What was set or removed in it, such as `production` or `shellVariables.API_KEY`: names, never values. At most 100, and `…` for more. */
  fields: string[]
  by: AuditActor

  /** How it was requested: in the portal, by the API, by the command line as it calls itself, by a push, or by a command of the operator on the machine of the service. */
  way: 'PORTAL' | 'API' | 'COMMAND_LINE' | 'GIT' | 'OPERATOR'

  /** The network address that it came from; empty for the operator. */
  address: string
}

export type AuditEventList = {
  auditEvents: AuditEvent[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type Build = {
  /** `accounts/…/environments/{environment}/builds/{build}` */
  name: string
  state: 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  phase: 'QUEUED' | 'UNPACKING' | 'PLANNING' | 'INSTALLING' | 'BUILDING' | 'STARTING' | 'SWITCHING' | 'DONE'
  trigger:
    | 'CREATE'
    | 'UPDATE'
    | 'DELETE'
    | 'UPLOAD'
    | 'REBUILD'
    | 'CLEAN_REBUILD'
    | 'ACTIVATE'
    | 'PROMOTE'
    | 'PURGE_CACHE'

  /** Whether it started without anything kept from earlier builds. */
  clean: boolean

  /** Whether visitors got this output already: nothing was switched, and the cache was kept. */
  unchanged: boolean

  /** Who requested it. Null if an earlier version of the service did not record it. */
  requestedBy: Requester | null

  /** The sender's message about the archive; without one, the commit's subject, or empty. */
  message: string

  /** The git commit of the archive, as its sender states it. */
  commit: Commit | null
  promotedFrom?: PromotedFrom
  archive: { digest: string; bytes: number; files: number }
  plan?: Plan
  tools?: Tools

  /** What works today and should be changed, such as a Node.js version that no longer gets security fixes, and what to do. As of now. */
  warnings: string[]

  /** What was kept from earlier builds: installed packages, the store of the package manager, what compilers left. */
  caches: {
    cache: 'packages' | 'store' | 'compile'

    /** `HIT`: something of an earlier build was reused. */
    state: 'HIT' | 'MISS' | 'DROPPED'

    /** How much that was. */
    bytes: number

    /** How much is kept for the next build. */
    savedBytes?: number
  }[]

  /** The hosts that it contacted over the network, if the machine records that. Not in lists: read the build itself. */
  contacts?: {
    /** The name that was asked for. */
    host?: string
    addresses: string[]
    protocol: 'tcp' | 'udp' | 'dns'
    port?: number

    /** Whether the previous build did not contact it. */
    new: boolean

    /** Whether the network blocked it. */
    refused: boolean

    /** How the calls went, the best of them. CONNECTED: a connection was accepted; what came over it is not known. CONNECTION_REFUSED: the server refused all. NO_ANSWER: nothing came back. BLOCKED: the network let nothing through. NAME_NOT_RESOLVED: the name has no address. ASKED: it has one, and no connection is known to be its own. Absent in records of earlier versions. */
    outcome?: 'CONNECTED' | 'CONNECTION_REFUSED' | 'NO_ANSWER' | 'BLOCKED' | 'NAME_NOT_RESOLVED' | 'ASKED'
  }[]
  held?: Held
  fromSnapshot?: FromSnapshot
  waiting?: Waiting

  /** The image of its output in the registry of the service, as tools for containers take it: `registry.example.com/headland/account/app@sha256:…`. None where the service has no registry, or the output is not kept any more. */
  image?: string

  /** When it was requested. */
  createTime: string

  /** When work on it began. */
  startTime?: string

  /** When it ended. */
  finishTime?: string

  /** Seconds of each phase. */
  durations: Record<string, number>
  failure?: BuildFailure
  firstFailure?: FirstFailure
}

export type BuildFailure = {
  /** One of the reasons of the error reference. */
  reason: string
  fault: 'caller' | 'app' | 'service'
  retryable: boolean
  message: string

  /** The line of the log that shows it; 0 where none does. */
  logLine: number

  /** Where the cause is: in the app, the network, the request or the service. */
  cause: string

  /** What to do about it; empty where the message says it. */
  todo: string

  /** The page of the documentation about it, as a path under the address of the service. */
  page: string

  /** What differs from the last successful build. */
  changes: string[]
}

export type BuildList = {
  builds: Build[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type Certificate = {
  /** accounts/{account}/certificates/{certificate} */
  name: string

  /** The host names that it is for. An uploaded one may have a wildcard. */
  names: string[]

  /** The host names of the account that are answered with it now. */
  usedFor: string[]

  /** ACME: got and renewed by the service. UPLOADED: by the account, which also replaces it in time. */
  source: 'ACME' | 'UPLOADED'

  /** PENDING: is being got. WAITING_FOR_DNS: the name does not lead here yet. ISSUED: is used. RENEWING: is used, and the next one is being got. FAILED: there is none; `failure` tells why. EXPIRED: an uploaded one whose time is over. */
  state: 'PENDING' | 'WAITING_FOR_DNS' | 'ISSUED' | 'RENEWING' | 'FAILED' | 'EXPIRED'

  /** From when it is valid. */
  notBefore?: string

  /** Until when it is valid. */
  notAfter?: string

  /** Who issued it. */
  issuer?: string

  /** When the service gets it, tries again or renews it. */
  nextAttemptTime?: string
  failure?: CertificateFailure

  /** What needs attention, such as an upload that expires soon. */
  warning?: string

  /** When the name was first wanted, or the certificate was uploaded. */
  createTime: string
}

export type CertificateCheck = {
  /** As a visitor from this machine finds it. NOT_CHECKED: the name does not lead here, so nothing was asked. MISSING: the proxy answers without a certificate for the name. NO_ANSWER: nothing answers by TLS at our own address. */
  state:
    | 'NOT_CHECKED'
    | 'VALID'
    | 'EXPIRED'
    | 'NOT_YET_VALID'
    | 'WRONG_NAME'
    | 'SELF_SIGNED'
    | 'UNTRUSTED'
    | 'MISSING'
    | 'NO_ANSWER'

  /** Who issued it. */
  issuer?: string

  /** When it ends. */
  validUntil?: string
}

export type CertificateFailure = {
  /** What went wrong: a problem type of the CA such as rateLimited, connection, unauthorized or caa (RFC 8555, section 6.7), or one of the service: leadsElsewhere, noAddress, dnsUnanswered, unreachable, dnsHook. */
  type: string

  /** The CA's own words, if it refused; otherwise what the service found. */
  detail: string

  /** What to do about it. */
  action: string

  /** When it failed. */
  time: string
}

export type CertificateList = {
  certificates: Certificate[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type ChangedApp = {
  previews?: ChangedPreviewSettings

  /** The `etag` that was read. If it is not the current one, nothing is done: 409, `ETAG_MISMATCH`. */
  etag?: string
}

export type ChangedContent = {
  method: string

  /** Without values that may be secrets. */
  url: string

  /** What a query of GraphQL asks for, in short. */
  query?: string
  statusBefore: number
  statusAfter: number

  /** The first of them; none where the answers are no JSON. */
  changes: ContentChange[]

  /** How many more there are. */
  moreChanges: number

  /** Ids of the items that changed, where the JSON has some. */
  ids: string[]
}

export type ChangedEnvironment = {
  /** One line of text that people read. */
  displayName?: string

  /** The git branch whose pushes are deployed here; `uploadable` for none. */
  branch?: string

  /** Name of the content-management install that the environment connects to. */
  cmsEnvironment?: string

  /** At most 500. */
  shellVariables?: ChangedShellVariable[]

  /** Folder of the archive that holds the app, relative, without `..`; empty for the top. */
  rootDirectory?: string
  suspiciousOutput?: SuspiciousOutput
  promotionChecks?: ChangedPromotionChecks

  /** What these servers answer to a build is recorded. While one of them is down, a rebuild runs from the last recorded answers. Null: off. */
  contentSnapshots?: ContentSnapshots | null

  /** Instances of the app that always run. 0: it sleeps without visitors. Not more than `maxInstances`. 0 unless given. */
  minInstances?: number

  /** Instances of the app that run at most. 1 unless given. */
  maxInstances?: number

  /** Requests in flight at one instance above which another one is started, up to `maxInstances`. 10 unless given. */
  requestsPerInstance?: number

  /** Whether it is for the public. Answers of all other environments carry `X-Robots-Tag: noindex`, so that search engines do not list them. False unless given. */
  production?: boolean
  protection?: ChangedProtection

  /** Whether everyone can see the name and the state of the environment as a picture, at `badge.svg` below it. False unless given. */
  badge?: boolean

  /** How long a publish may take, from the call until every edge answers with what is new. A slower one is marked, and is a notice (`PUBLISH_LATE`). Null: nothing is promised. */
  publishPromiseSeconds?: number | null

  /** Pages that the app renders on request are kept by the edge, and purged when the CMS says that their content changed. Null: only what the app allows is kept. */
  learnedCaching?: LearnedCaching | null

  /** The `etag` that was read. If it is not the current one, nothing is done: 409, `ETAG_MISMATCH`. */
  etag?: string
}

/** Absent fields keep their values. The kind cannot be changed. */
export type ChangedNotificationTarget = {
  /** One line of text that people read. */
  displayName?: string

  /** Where it is sent, with `https:`. Not for `EMAIL`. It is a secret: answers have only its host. */
  url?: string

  /** E-mail addresses. Only for `EMAIL`. */
  addresses?: string[]

  /** What it is told about. A target that takes both `BUILD_LIVE` and `BUILD_RECOVERED` gets one of them for a build. */
  noticeKinds?: (
    | 'BUILD_FAILED'
    | 'BUILD_RECOVERED'
    | 'BUILD_LIVE'
    | 'APP_CRASH_LOOP'
    | 'CERTIFICATE_FAILING'
    | 'DISK_NEARLY_FULL'
    | 'QUOTA_NEARLY_FULL'
    | 'PUBLISH_LATE'
  )[]

  /** Only notices about these apps; empty for all. Notices about the account as a whole are sent in either case. */
  apps?: string[]

  /** Whether notices are sent to it. When it is switched off, those that wait are not sent any more. */
  enabled?: boolean

  /** The `etag` that was read. If it is not the current one, nothing is done: 409, `ETAG_MISMATCH`. */
  etag?: string
}

export type ChangedPassword = {
  /** The current password. */
  password: string
  newPassword: string
}

/** What is left out stays as it is. */
export type ChangedPreviewSettings = {
  /** Whether previews are made. Those that exist stay. True unless it is changed. */
  enabled?: boolean

  /** The environment whose variables, protection and settings previews get: its name, or empty for the one with `production: true`, else the oldest. */
  environment?: string

  /** Whether previews get secrets, too. A branch may have been written by anyone who can push it. False unless it is changed. */
  secrets?: boolean

  /** How many the app has at a time. 10 unless it is changed. */
  maxCount?: number

  /** A preview without a deployment and a visit for this long is deleted. 14 unless it is changed. */
  idleDays?: number
}

/** A field that is left out gets its default: AUTO, 50, 60. */
export type ChangedPromotionChecks = {
  /** BLOCK: a version with a broken page is held. WARN: it goes live with warnings. OFF: no page is asked for. AUTO: WARN in the first 30 days of the environment, BLOCK afterwards. */
  mode?: 'AUTO' | 'BLOCK' | 'WARN' | 'OFF'

  /** How many pages are asked for, the most visited first. */
  pages?: number

  /** How long the whole check may take. Pages that were not reached by then are left out. */
  timeoutSeconds?: number
}

/** With a password and addresses, a visitor needs both: one of the addresses, and the password. */
export type ChangedProtection = {
  /** Left out, it stays as it is. Null: none. */
  password?: string | null

  /** At most 100. Left out, they stay as they are. Empty: all addresses. */
  addresses?: string[]
}

/** Absent fields keep their values. With another host in `url`, a token is kept only where it is given again, and the keys of the server are learned again. */
export type ChangedRepository = {
  /** Where it is: `https://github.com/acme/site.git`, `ssh://git@github.com/acme/site.git` or `git@github.com:acme/site.git`. A user name with a password or a token in it is refused. */
  url?: string

  /** The branch whose commits are deployed. */
  branch?: string

  /** What runs there, which decides how its calls are checked and how statuses are sent; Forgejo counts as GITEA. Known from the host unless it is given. Null: another git server, which is only polled. */
  provider?: 'GITHUB' | 'GITLAB' | 'GITEA' | 'BITBUCKET' | null

  /** Sent with the token over https; empty for what the provider expects with a token. */
  username?: string

  /** Null removes the stored one. */
  token?: string | null

  /** Empty: the service makes a new one. */
  deployKey?: string

  /** The keys of the server for an address of ssh, as lines of OpenSSH's known_hosts. Empty: the key that the server has at the first contact is kept, and another one is refused from then on. */
  knownHosts?: string

  /** How often the branch is looked at, whether or not the provider calls. Null: never. */
  pollMinutes?: number | null

  /** Whether the provider is told how each build of a commit goes. It takes a token. */
  sendsStatuses?: boolean

  /** The `etag` that was read. If it is not the current one, nothing is done: 409, `ETAG_MISMATCH`. */
  etag?: string
}

/** Absent fields keep their values. */
export type ChangedSchedule = {
  /** What is requested. */
  action?: 'REBUILD' | 'CLEAN_REBUILD' | 'PURGE_CACHE'

  /** Five fields as in a crontab: minute, hour, day of the month, month, day of the week (`30 3 * * MON-FRI`); or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. */
  cron?: string

  /** The time zone of the expression, by its IANA name, such as `Europe/Berlin`. Changes of the clock are treated as cron does: a fixed time that is skipped runs right after the change, and one that comes twice runs once. */
  timeZone?: string

  /** Whether it waits until it is resumed. Times that pass meanwhile are not caught up. */
  paused?: boolean

  /** The `etag` that was read. If it is not the current one, nothing is done: 409, `ETAG_MISMATCH`. */
  etag?: string
}

/** Without a value, the variable keeps the one it has, and so with the kind. A secret becomes PLAIN only together with its value. */
export type ChangedShellVariable = {
  /** Name of the variable: letters, digits and underscores, not starting with a digit. */
  key: string

  /** SECRET: struck from logs, and shown with `view=FULL` alone. PLAIN: neither. A variable that is given without a kind keeps the one it has; a new one is PLAIN if its name begins with `NEXT_PUBLIC_`, `NUXT_PUBLIC_`, `PUBLIC_`, `VITE_`, `REACT_APP_`, `GATSBY_`, `EXPO_PUBLIC_`, and SECRET otherwise. */
  kind?: 'SECRET' | 'PLAIN'

  /** Value, at most 65536 bytes; that of a secret is never shown again unless `view=FULL` is asked for. */
  value?: string
}

export type ChangedUser = {
  /** What the caller may do: read, write, or also hand out access. */
  role: 'viewer' | 'developer' | 'owner'
}

/** Absent fields keep their values. */
export type ChangedWebhookSet = {
  /** A build that webhooks requested begins when no further call came for this many seconds. 0: at once. */
  quietSeconds?: number

  /** The build begins at most this many seconds after the first call, however many calls come. */
  maxQuietSeconds?: number

  /** The former name of `maxQuietSeconds`, which the next version removes. @deprecated */
  quietSecondsMost?: number
}

export type CheckedPage = {
  path: string

  /** BROKEN: it worked before and does not now. CHANGED: it works and differs visibly. FAILING: it does not work, and did not before, or there is nothing to compare with. */
  verdict: 'SAME' | 'CHANGED' | 'BROKEN' | 'FAILING'

  /** What differs, in words. */
  why?: string
  before?: PageAnswer
  after: PageAnswer

  /** Files of its own host that it loads and that are not there. */
  missingAssets?: string[]
}

/** What has one of the paths or tags, at most 1000 together; with neither, everything. */
export type ClearCache = { paths?: string[]; tags?: string[] }

/** The processes and machines of the installation, as the database knows them. */
export type Cluster = {
  /** Several control processes may use the database. */
  shared: boolean

  /** Of the process that has answered. */
  version: string
  leader?: {
    /** Its host, and the process id. */
    process: string

    /** Rises with each new leader. */
    term: number

    /** Since it was last seen. Means nothing where `shared` is false. */
    silentSeconds: number
  }
  controls: {
    /** The name of its machine, or the start of an id of it, and the process id. */
    process: string

    /** Of Headland. Absent where the process is not on record. */
    version?: string

    /** False also where the name of the leader does not tell which process it is. */
    leading: boolean

    /** Edges that follow it. */
    edges: number

    /** Nodes that follow it. */
    nodes: number
  }[]
  edges: {
    /** The name of its machine, or the start of an id of it, and the process id. */
    process: string

    /** The control process that it follows. */
    control: string

    /** Purges that it may not have applied yet, at most. */
    behind: number
  }[]

  /** Processes that build. */
  workers: {
    /** The name of its machine, or the start of an id of it, and the process id. */
    process: string

    /** What it builds now. */
    builds: number

    /** Builds that it does at a time. Absent where it is not on record. */
    places?: number

    /** Of Headland. Absent where the process is not on record. */
    version?: string

    /** Since it was last seen; it is forgotten after an hour. */
    silentSeconds: number
  }[]

  /** Machines that run apps, by region. */
  nodes: {
    /** Its host name. */
    name: string
    address: string

    /** As in `EU-W`; empty: no app runs there. */
    region: string

    /** Of the swarm: `ready`, `down`, `drain` or `pause`; empty before the leader has looked. */
    state: string

    /** It keeps apps apart, by the rules that are in use now. */
    confirmed: boolean

    /** Instances of apps that run or start there. */
    instances: number

    /** 0 where it is not known. */
    memoryBytes: number

    /** What these instances may use at most. */
    promisedBytes: number

    /** The version of Docker; empty where it is not known. */
    engine: string

    /** Of Headland; empty where its role does not run there. */
    version: string
  }[]

  /** What is being done, and by which process. */
  work: {
    /** The name of its machine, or the start of an id of it, and the process id. */
    process: string
    queue: string
    trigger:
      | 'CREATE'
      | 'UPDATE'
      | 'DELETE'
      | 'UPLOAD'
      | 'REBUILD'
      | 'CLEAN_REBUILD'
      | 'ACTIVATE'
      | 'PROMOTE'
      | 'PURGE_CACHE'
    phase: string

    /** `accounts/…/environments/{environment}/operations/{operation}` */
    operation: string
  }[]

  /** What is wrong, and what to do about it; what is broken comes first. */
  findings: {
    /** What it is about, as in `node berlin-1`. */
    part: string

    /** `broken`: something does not work. */
    state: 'weaker' | 'broken'
    found: string

    /** What to do about it. */
    advice: string
  }[]

  /** How many there are of each. A list above has 200 at most. */
  counts: { controls: number; edges: number; workers: number; nodes: number; work: number; findings: number }
}

export type Commit = {
  /** Id of a git commit, whole: 40 hexadecimal digits, or 64 of SHA-256. */
  sha: string

  /** The branch that was checked out. */
  branch?: string

  /** The first line of the commit's message. */
  subject?: string

  /** The name of its author. */
  author?: string

  /** The address of the repository that it was fetched from, without credentials. */
  repository?: string

  /** Whether the archive differs from the commit. Absent if that is not known. */
  isDirty?: boolean

  /** What of the commit is not in the archive, in sentences: submodules, and files of Git LFS. */
  notes?: string[]
}

export type ContentChange = {
  /** Where in the JSON, as `posts[12].title.rendered`; items of lists by their ids. */
  path: string

  /** Cut off where it is long. Absent: it is new. */
  before?: string

  /** Cut off where it is long. Absent: it is gone. */
  after?: string
}

/** What changed in the content from one build to another. */
export type ContentDiff = {
  /** The build that is compared with. */
  from: string

  /** When its content was recorded. */
  fromTime: string

  /** The build that was asked for. */
  to: string

  /** When its content was recorded. */
  toTime: string
  counts: { added: number; removed: number; changed: number; unchanged: number }

  /** What only the build that was asked for fetched. At most 200 are listed. */
  added: AskedContent[]

  /** What only the other one fetched. At most 200 are listed. */
  removed: AskedContent[]

  /** What both fetched, with other answers. At most 200 are listed. */
  changed: ChangedContent[]
}

export type ContentSnapshots = {
  /** The servers whose answers are recorded. */
  hosts: string[]
}

export type Counted = {
  /** APPS and ENVIRONMENTS, also while they are being deleted; custom DOMAINS of all environments; API CREDENTIALS; AWAKE_APPS; the bytes of APP_MEMORY that they use, and those that keep their memory while they sleep; RUNNING_BUILDS. */
  kind: 'APPS' | 'ENVIRONMENTS' | 'DOMAINS' | 'CREDENTIALS' | 'AWAKE_APPS' | 'APP_MEMORY' | 'RUNNING_BUILDS'

  /** How many there are now. */
  used: number

  /** How many there may be; 0 where there is no limit. */
  limit: number

  /** By which the operator changes the limit. */
  setting: string
}

export type Credential = {
  /** `accounts/{account}/credentials/{credential}` */
  name: string

  /** User name for Basic authentication. */
  userId: string
  displayName: string

  /** What the caller may do: read, write, or also hand out access. */
  role: 'viewer' | 'developer' | 'owner'

  /** When it was created. */
  createTime: string
}

export type CredentialList = {
  credentials: Credential[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type Deletion = {
  /** The `etag` that was read. If it is not the current one, nothing is done: 409, `ETAG_MISMATCH`. */
  etag?: string
}

export type Deployment = {
  /** `accounts/…/environments/{environment}/deployments/{deployment}` */
  name: string

  /** The build whose output it is. */
  build: string

  /** What asked for it: a build, or a change of the environment. */
  trigger:
    | 'CREATE'
    | 'UPDATE'
    | 'DELETE'
    | 'UPLOAD'
    | 'REBUILD'
    | 'CLEAN_REBUILD'
    | 'ACTIVATE'
    | 'PROMOTE'
    | 'PURGE_CACHE'

  /** Who requested it. Null if an earlier version of the service did not record it. */
  requestedBy: Requester | null

  /** The sender's message about the archive; without one, the commit's subject, or empty. */
  message: string

  /** The git commit of the archive, as its sender states it. */
  commit: Commit | null
  promotedFrom?: PromotedFrom

  /** The archive that its build was made from. */
  archive: { digest: string; bytes: number; files: number }

  /** HELD: its build has a suspicious output, or the check found broken pages, so it was not made live. It can be, by hand. */
  state: 'STARTING' | 'LIVE' | 'RETIRED' | 'FAILED' | 'HELD'
  check?: PromotionCheck

  /** Whether it can be made live, again or still: its files are kept for a number of newer deployments. */
  activatable: boolean
  instance?: Instance

  /** When it was made. */
  createTime: string

  /** When traffic was first switched to it. */
  liveTime?: string

  /** When another took its place. */
  retireTime?: string
}

export type DeploymentList = {
  deployments: Deployment[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type DnsCheck = {
  /** CHECKING: ask again in a moment. HERE: all addresses are those of this service; PARTLY: some are; ELSEWHERE: none is. NOWHERE: the name has no public address. NO_ANSWER: no DNS server answered in time. UNKNOWN: the service does not know its own public addresses (`publicAddresses`). */
  state: 'CHECKING' | 'HERE' | 'PARTLY' | 'ELSEWHERE' | 'NOWHERE' | 'NO_ANSWER' | 'UNKNOWN'

  /** Public addresses that DNS has for the name; private ones are left out unless they are our own. */
  addresses: string[]
}

export type DnsRecord = {
  /** The top of a zone, as `example.com`, cannot have a CNAME. */
  type: 'A' | 'AAAA' | 'CNAME'
  value: string
}

export type DomainCheck = {
  domain: string
  dns: DnsCheck
  certificate: CertificateCheck

  /** When it was looked at; absent while it is being checked. */
  checkTime?: string
}

export type DomainChecks = {
  /** One for each custom host name, in the order of the list. */
  checks: DomainCheck[]

  /** What to enter in DNS: the CNAME, or all A and AAAA. Without A and AAAA, the service does not know its own addresses. */
  records: DnsRecord[]
}

export type DomainList = {
  /** In alphabetical order, as ASCII in lower case. */
  domains: string[]

  /** Host names of the list that redirect to another one of it. */
  redirects: DomainRedirect[]

  /** Empty: there is one page. */
  nextPageToken: string

  /** It differs after every change of the list. */
  etag: string
}

export type DomainRedirect = {
  /** The host name that redirects; one of the list. */
  domain: string

  /** Where it redirects to: another one of the list, which does not redirect itself. */
  to: string
}

export type Empty = Record<string, never>

export type Environment = {
  /** `accounts/{account}/apps/{app}/environments/{environment}` */
  name: string

  /** One line of text that people read. */
  displayName: string

  /** The git branch whose pushes are deployed here, or `uploadable`. */
  branch: string

  /** Name of the content-management install that the environment connects to. */
  cmsEnvironment: string
  shellVariables: ShownShellVariable[]
  rootDirectory: string
  suspiciousOutput: SuspiciousOutput
  promotionChecks: PromotionChecks

  /** What these servers answer to a build is recorded. While one of them is down, a rebuild runs from the last recorded answers. Null: off. */
  contentSnapshots: ContentSnapshots | null

  /** Instances of the app that always run. 0: it sleeps without visitors. Not more than `maxInstances`. 0 unless given. */
  minInstances: number

  /** Instances of the app that run at most. 1 unless given. */
  maxInstances: number

  /** Requests in flight at one instance above which another one is started, up to `maxInstances`. 10 unless given. */
  requestsPerInstance: number

  /** Whether it is for the public. Answers of all other environments carry `X-Robots-Tag: noindex`, so that search engines do not list them. False unless given. */
  production: boolean
  protection: Protection

  /** Whether everyone can see the name and the state of the environment as a picture, at `badge.svg` below it. False unless given. */
  badge: boolean

  /** How long a publish may take, from the call until every edge answers with what is new. A slower one is marked, and is a notice (`PUBLISH_LATE`). Null: nothing is promised. */
  publishPromiseSeconds: number | null

  /** Pages that the app renders on request are kept by the edge, and purged when the CMS says that their content changed. Null: only what the app allows is kept. */
  learnedCaching: LearnedCaching | null

  /** Where the site answers; empty until the environment is ready. */
  url: string

  /** Custom host names. */
  domains: string[]

  /** The build that is live, or empty. */
  build: string

  /** The deployment that is live, or empty. */
  deployment: string
  pin: Pin | null

  /** What makes it a preview; null for other environments. */
  preview: Preview | null

  /** EMPTY: nothing deployed yet; LIVE; DELETING. */
  state: 'EMPTY' | 'LIVE' | 'DELETING'

  /** True while an operation changes it. */
  reconciling: boolean
  latestOperation?: LatestOperation
  latestBuild?: LatestBuild
  held?: HeldDeployment
  retry?: Retry
  freshness?: Freshness

  /** When it was created. */
  createTime: string

  /** When it was last changed. */
  updateTime: string

  /** It differs after every change of what `PATCH` can set. Builds, deployments and domains leave it as it is. */
  etag: string

  /** The etag of each variable, by its key: it differs after every change of that variable. */
  shellVariableEtags: Record<string, string>
}

export type EnvironmentList = {
  environments: Environment[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type EnvironmentUsage = {
  /** `accounts/…/environments/{environment}/usage` */
  name: string

  /** All kinds together. */
  bytes: number

  /** Files, folders and links of all kinds together. */
  files: number
  kinds: {
    /** ARCHIVES that a rebuild may start from; REPOSITORIES, what was pushed to apps, which no environment has for itself; SNAPSHOTS of content that builds got from a CMS; OUTPUTS of deployments that can be made live; installed PACKAGES; CACHES of builds; LOGS; what apps write in RUNS, with what they keep in the key-value store. */
    kind: 'ARCHIVES' | 'REPOSITORIES' | 'SNAPSHOTS' | 'OUTPUTS' | 'PACKAGES' | 'CACHES' | 'LOGS' | 'RUNS'
    bytes: number

    /** How much of it other environments of the account hold, too. */
    sharedBytes: number
  }[]

  /** When caches, logs and runs were measured. */
  measureTime: string
}

/** AIP-193: `details` holds an ErrorInfo with the reason, names bad fields, and links to help as a path under the address of the service. */
export type ErrorReply = {
  error: { code: number; status: string; message: string; details: Record<string, unknown>[] }
}

export type Example = {
  /** `examples/{example}`; its archive is at `/v1/examples/{example}.zip`. */
  name: string
  displayName: string

  /** What it shows, in one sentence. */
  description: string

  /** Files in the archive. */
  files: number

  /** Bytes of the archive. */
  bytes: number
}

export type ExampleList = {
  examples: Example[]

  /** Empty on the last page. */
  nextPageToken: string
}

/** Why the first of two attempts failed, as soon as that is known. */
export type FirstFailure = {
  /** One of the reasons of the error reference. */
  reason: string
  message: string

  /** The line of the log that shows it; 0 where none does. */
  logLine: number

  /** Why it is tried once more without caches. */
  retriedBecause: string
}

/** How new content reaches visitors, by what is live. */
export type Freshness = {
  /** What Purge Cache brings. PAGES: the next visitor of a page gets a new one; EDGE: the app is asked, and answers what it has; NOTHING: the site's files stay as the build made them. */
  purge: 'NOTHING' | 'EDGE' | 'PAGES'

  /** Which of Purge Cache, Rebuild and Clean Rebuild publishes new content, in words. */
  advice: string
}

/** The CMS was down, so this build was made from the content of an earlier one. The service builds again when the CMS is back. */
export type FromSnapshot = {
  /** The build that recorded the content. */
  build: string

  /** How old the content is: when it was recorded. */
  time: string

  /** The server that failed, as `host:port`. */
  host: string

  /** Why, in words. */
  message: string
}

/** The output is kept and is not live. Activate the deployment of this build to make it live. */
export type Held = {
  /** `SUSPICIOUS_OUTPUT`, or `CHECK_FAILED`: then `check` of the deployment has the pages. */
  reason: string

  /** What is missing, in words. */
  message: string

  /** What to do about it. */
  todo: string

  /** The page of the documentation about it. */
  page: string

  /** Servers that the variables name and that could not be reached at all. */
  unreachable: {
    host: string

    /** The port that was called; absent where the name has no address. */
    port?: number

    /** How the calls went, the best of them. CONNECTED: a connection was accepted; what came over it is not known. CONNECTION_REFUSED: the server refused all. NO_ANSWER: nothing came back. BLOCKED: the network let nothing through. NAME_NOT_RESOLVED: the name has no address. ASKED: it has one, and no connection is known to be its own. Absent in records of earlier versions. */
    outcome: 'CONNECTED' | 'CONNECTION_REFUSED' | 'NO_ANSWER' | 'BLOCKED' | 'NAME_NOT_RESOLVED' | 'ASKED'
  }[]
  lostPages?: LostPages
}

/** The newest build was held, and nothing went live since. */
export type HeldDeployment = {
  /** The deployment that is not live; activate it to make it live. */
  deployment: string

  /** The build; its `held` has the details. */
  build: string

  /** What is missing, in words. */
  message: string

  /** When it was held. */
  createTime: string
}

/** Its processes, while it is live and has one. */
export type Instance = {
  /** RUNNING if one of its instances answers. */
  state: 'STARTING' | 'RUNNING' | 'ASLEEP' | 'RESTARTING' | 'CRASH_LOOP'

  /** How many of its instances answer. */
  running: number

  /** How often they died by themselves. */
  restarts: number
}

/** An account asks the user to join it. Until it is accepted, it gives no access. */
export type Invitation = {
  /** `session/invitations/{invitation}` */
  name: string

  /** `accounts/{account}`: the account that asks. */
  account: string

  /** What the caller may do: read, write, or also hand out access. */
  role: 'viewer' | 'developer' | 'owner'

  /** E-mail address of the owner who asks; empty where a program did. */
  inviter: string

  /** When the user was invited. */
  createTime: string
}

/** How this machine keeps builds and apps apart, in words. */
export type Isolation = {
  sandbox: string
  layers: string

  /** What holds programs to their limits. */
  limits: string
  network: string

  /** What is not protected here; empty where all of it is. */
  weaknesses: string[]
}

export type IssuedCredential = {
  /** `accounts/{account}/credentials/{credential}` */
  name: string

  /** User name for Basic authentication. */
  userId: string
  displayName: string

  /** What the caller may do: read, write, or also hand out access. */
  role: 'viewer' | 'developer' | 'owner'

  /** When it was created. */
  createTime: string

  /** Shown this once. */
  password: string
}

export type IssuedNotificationTarget = {
  /** `accounts/{account}/notificationTargets/{notificationTarget}` */
  name: string

  /** One line of text that people read. */
  displayName: string

  /** What it is sent to: `WEBHOOK` is a signed call by the Standard Webhooks specification; `SLACK`, `DISCORD` and `TEAMS` are their incoming webhooks (of Teams, those of Workflows); `EMAIL` needs a mail server of the operator. */
  kind: 'WEBHOOK' | 'SLACK' | 'DISCORD' | 'TEAMS' | 'EMAIL'

  /** The host of its URL. The whole URL is a secret. */
  host?: string

  /** Of `EMAIL`. */
  addresses?: string[]
  noticeKinds: (
    | 'BUILD_FAILED'
    | 'BUILD_RECOVERED'
    | 'BUILD_LIVE'
    | 'APP_CRASH_LOOP'
    | 'CERTIFICATE_FAILING'
    | 'DISK_NEARLY_FULL'
    | 'QUOTA_NEARLY_FULL'
    | 'PUBLISH_LATE'
  )[]
  apps: string[]

  /** Whether notices are sent to it. When it is switched off, those that wait are not sent any more. */
  enabled: boolean

  /** Why the service has switched it off: `GONE`, as the receiver answered that it does not exist any more (410). */
  disabledReason?: 'GONE'

  /** When it was made. */
  createTime: string

  /** When it was last changed. */
  updateTime: string

  /** It differs after every change of what users set. */
  etag: string

  /** Of `WEBHOOK`: the key of its signatures, `whsec_` and base64. Shown this once. */
  secret?: string
}

export type IssuedRepository = {
  /** `accounts/…/environments/{environment}/repository` */
  name: string

  /** Where it is: `https://github.com/acme/site.git`, `ssh://git@github.com/acme/site.git` or `git@github.com:acme/site.git`. A user name with a password or a token in it is refused. */
  url: string

  /** The branch whose commits are deployed. */
  branch: string

  /** What runs there, which decides how its calls are checked and how statuses are sent; Forgejo counts as GITEA. Known from the host unless it is given. Null: another git server, which is only polled. */
  provider: 'GITHUB' | 'GITLAB' | 'GITEA' | 'BITBUCKET' | null

  /** Sent with the token over https; empty for what the provider expects with a token. */
  username: string

  /** Whether a token is stored. */
  hasToken: boolean

  /** The public part of the deploy key, to be added to the repository as a key that reads; empty without one. */
  publicKey: string

  /** The keys of the server for an address of ssh, as lines of OpenSSH's known_hosts. Empty: the key that the server has at the first contact is kept, and another one is refused from then on. */
  knownHosts: string

  /** How often the branch is looked at, whether or not the provider calls. Null: never. */
  pollMinutes: number | null

  /** Whether the provider is told how each build of a commit goes. It takes a token. */
  sendsStatuses: boolean

  /** Where the provider calls after a push, with the secret that was shown; it contains no secret itself. */
  hookUrl: string

  /** Whether a fetch is wanted or under way. */
  fetching: boolean

  /** The commit that was last fetched and deployed; empty before. */
  lastCommit: string

  /** When the branch was last looked at with success. */
  lastFetchTime?: string

  /** The operation that deployed it; empty before. */
  lastOperation: string

  /** Why the last fetch failed. */
  problem: RepositoryProblem | null

  /** Why the provider did not take the last status of a commit. */
  statusProblem: RepositoryProblem | null

  /** When it was connected. */
  createTime: string

  /** When it was last changed. */
  updateTime: string

  /** It differs after every change of what `PATCH` can set. */
  etag: string

  /** The secret for the settings of the hook at the provider; shown only once. */
  hookSecret: string
}

export type IssuedWebhookSet = {
  /** `accounts/…/environments/{environment}/webhooks` */
  name: string

  /** One for each action. */
  webhooks: {
    /** Rebuild; rebuild without anything that the framework has cached; or purge what the edge has stored. */
    action: 'rebuild' | 'cleanRebuild' | 'purgeCache'

    /** To be called by POST. It contains a token, and is shown only once. */
    url: string

    /** When the URL was last called, since it was made. */
    lastUseTime?: string
  }[]

  /** A build that webhooks requested begins when no further call came for this many seconds. 0: at once. */
  quietSeconds: number

  /** The build begins at most this many seconds after the first call, however many calls come. */
  maxQuietSeconds: number

  /** The former name of `maxQuietSeconds`, which the next version removes. @deprecated */
  quietSecondsMost?: number

  /** When the set was made. */
  createTime: string

  /** When its URLs were made. */
  regenerateTime: string
}

/** The newest build, whether or not it went live. */
export type LatestBuild = {
  /** `accounts/…/environments/{environment}/builds/{build}` */
  name: string
  state: 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  phase: 'QUEUED' | 'UNPACKING' | 'PLANNING' | 'INSTALLING' | 'BUILDING' | 'STARTING' | 'SWITCHING' | 'DONE'

  /** What requested it. */
  trigger:
    | 'CREATE'
    | 'UPDATE'
    | 'DELETE'
    | 'UPLOAD'
    | 'REBUILD'
    | 'CLEAN_REBUILD'
    | 'ACTIVATE'
    | 'PROMOTE'
    | 'PURGE_CACHE'

  /** Why it failed: one of the reasons of the error reference. Absent where it did not. */
  reason?: string

  /** When it was requested. */
  createTime: string

  /** When it ended. */
  finishTime?: string
}

/** The newest operation that is under way, or that ended well or badly: no purge, and none that was cancelled or superseded. */
export type LatestOperation = {
  /** `accounts/…/environments/{environment}/operations/{operation}` */
  name: string

  /** What requested it. */
  trigger:
    | 'CREATE'
    | 'UPDATE'
    | 'DELETE'
    | 'UPLOAD'
    | 'REBUILD'
    | 'CLEAN_REBUILD'
    | 'ACTIVATE'
    | 'PROMOTE'
    | 'PURGE_CACHE'
  phase: 'QUEUED' | 'UNPACKING' | 'PLANNING' | 'INSTALLING' | 'BUILDING' | 'STARTING' | 'SWITCHING' | 'DONE'
  done: boolean

  /** The build; ends in `/builds/no_build` where nothing is built. */
  build: string

  /** Why it failed: one of the reasons of the error reference. Absent where it did not. */
  reason?: string

  /** When it was requested. */
  createTime: string
}

export type LearnedCaching = {
  /** For how long a page is kept at most, if no content of it changes. */
  maxAgeSeconds: number
}

/** Errors that were written to the app's log during the check. */
export type LogErrors = {
  count: number

  /** The first of them. */
  lines: string[]
}

export type LostPages = {
  /** Pages of the live deployment. */
  before: number

  /** Pages of this output. */
  now: number

  /** Pages of the live deployment that this output does not have. */
  count: number

  /** The first of them. */
  names: string[]
}

export type NewApp = {
  /** Where all environments of the app are hosted. */
  region: 'regions/US-C' | 'regions/AUS-SE' | 'regions/UK' | 'regions/EU-W'

  /** Empty object: the app is fed by archive upload. */
  uploadable: Record<string, never>
}

export type NewCertificate = {
  /** The certificate as PEM, then its issuers in order. The root may be left out. */
  chain: string

  /** Its private key as PEM, without a password: RSA with 2,048 to 4,096 bits, or ECDSA on P-256 or P-384. */
  privateKey: string
}

/** `role` is `developer` unless given. */
export type NewCredential = {
  /** What the caller may do: read, write, or also hand out access. */
  role?: 'viewer' | 'developer' | 'owner'

  /** One line of text that people read. */
  displayName?: string
}

/** The whole list. */
export type NewDomains = {
  /** At most 50. A name belongs to one environment of the instance. */
  domains: string[]

  /** All redirects. Left out, those stay whose two names are in the list. Visitors of `domain` get a 308 to the same path and query at `to`. */
  redirects?: DomainRedirect[]

  /** The `etag` that was read. If it is not the current one, nothing is done: 409, `ETAG_MISMATCH`. */
  etag?: string
}

/** `cmsEnvironment` is required; `wpEnvironment` is taken in its place. */
export type NewEnvironment = {
  /** One line of text that people read. */
  displayName: string

  /** The git branch whose pushes are deployed here; `uploadable` for none. */
  branch: string

  /** Name of the content-management install that the environment connects to. */
  cmsEnvironment?: string

  /** Another name for cmsEnvironment. */
  wpEnvironment?: string

  /** At most 500. */
  shellVariables?: ShellVariable[]

  /** Folder of the archive that holds the app, relative, without `..`; empty for the top. */
  rootDirectory?: string
  suspiciousOutput?: SuspiciousOutput
  promotionChecks?: ChangedPromotionChecks

  /** What these servers answer to a build is recorded. While one of them is down, a rebuild runs from the last recorded answers. Null: off. */
  contentSnapshots?: ContentSnapshots | null

  /** Instances of the app that always run. 0: it sleeps without visitors. Not more than `maxInstances`. 0 unless given. */
  minInstances?: number

  /** Instances of the app that run at most. 1 unless given. */
  maxInstances?: number

  /** Requests in flight at one instance above which another one is started, up to `maxInstances`. 10 unless given. */
  requestsPerInstance?: number

  /** Whether it is for the public. Answers of all other environments carry `X-Robots-Tag: noindex`, so that search engines do not list them. False unless given. */
  production?: boolean
  protection?: ChangedProtection

  /** Whether everyone can see the name and the state of the environment as a picture, at `badge.svg` below it. False unless given. */
  badge?: boolean

  /** How long a publish may take, from the call until every edge answers with what is new. A slower one is marked, and is a notice (`PUBLISH_LATE`). Null: nothing is promised. */
  publishPromiseSeconds?: number | null

  /** Pages that the app renders on request are kept by the edge, and purged when the CMS says that their content changed. Null: only what the app allows is kept. */
  learnedCaching?: LearnedCaching | null
}

export type NewNotificationTarget = {
  /** One line of text that people read. */
  displayName: string

  /** What it is sent to: `WEBHOOK` is a signed call by the Standard Webhooks specification; `SLACK`, `DISCORD` and `TEAMS` are their incoming webhooks (of Teams, those of Workflows); `EMAIL` needs a mail server of the operator. */
  kind: 'WEBHOOK' | 'SLACK' | 'DISCORD' | 'TEAMS' | 'EMAIL'

  /** Where it is sent, with `https:`. Not for `EMAIL`. It is a secret: answers have only its host. */
  url?: string

  /** E-mail addresses. Only for `EMAIL`. */
  addresses?: string[]

  /** What it is told about. A target that takes both `BUILD_LIVE` and `BUILD_RECOVERED` gets one of them for a build. */
  noticeKinds?: (
    | 'BUILD_FAILED'
    | 'BUILD_RECOVERED'
    | 'BUILD_LIVE'
    | 'APP_CRASH_LOOP'
    | 'CERTIFICATE_FAILING'
    | 'DISK_NEARLY_FULL'
    | 'QUOTA_NEARLY_FULL'
    | 'PUBLISH_LATE'
  )[]

  /** Only notices about these apps; empty for all. Notices about the account as a whole are sent in either case. */
  apps?: string[]

  /** Whether notices are sent to it. When it is switched off, those that wait are not sent any more. */
  enabled?: boolean
}

export type NewPreview = {
  /** The branch that it shows. An app has one preview of a branch. */
  branch: string
}

export type NewPromotion = {
  /** The environment that gets it: its name, or its id. One of the same app. */
  target: string

  /** False: refuse with PROMOTION_NEEDS_BUILD where the same output cannot be used. True unless it is given. */
  build?: boolean
}

export type NewRepository = {
  /** Where it is: `https://github.com/acme/site.git`, `ssh://git@github.com/acme/site.git` or `git@github.com:acme/site.git`. A user name with a password or a token in it is refused. */
  url: string

  /** The branch whose commits are deployed. */
  branch?: string

  /** What runs there, which decides how its calls are checked and how statuses are sent; Forgejo counts as GITEA. Known from the host unless it is given. Null: another git server, which is only polled. */
  provider?: 'GITHUB' | 'GITLAB' | 'GITEA' | 'BITBUCKET' | null

  /** Sent with the token over https; empty for what the provider expects with a token. */
  username?: string

  /** A token that may read the repository over https and, for statuses, write them. Stored sealed, and never shown. */
  token?: string

  /** A private key of OpenSSH without a passphrase, for an address of ssh. Without one, the service makes a key, and shows its public part. Stored sealed, and never shown. */
  deployKey?: string

  /** The keys of the server for an address of ssh, as lines of OpenSSH's known_hosts. Empty: the key that the server has at the first contact is kept, and another one is refused from then on. */
  knownHosts?: string

  /** How often the branch is looked at, whether or not the provider calls. Null: never. */
  pollMinutes?: number | null

  /** Whether the provider is told how each build of a commit goes. It takes a token. */
  sendsStatuses?: boolean
}

export type NewSchedule = {
  /** What is requested. */
  action: 'REBUILD' | 'CLEAN_REBUILD' | 'PURGE_CACHE'

  /** Five fields as in a crontab: minute, hour, day of the month, month, day of the week (`30 3 * * MON-FRI`); or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. */
  cron: string

  /** The time zone of the expression, by its IANA name, such as `Europe/Berlin`. Changes of the clock are treated as cron does: a fixed time that is skipped runs right after the change, and one that comes twice runs once. */
  timeZone?: string

  /** Whether it waits until it is resumed. Times that pass meanwhile are not caught up. */
  paused?: boolean
}

export type NewSession = { email: string; password: string }

export type NewUser = {
  /** An e-mail address. Upper and lower case are the same. */
  email: string

  /** What the caller may do: read, write, or also hand out access. */
  role: 'viewer' | 'developer' | 'owner'
}

export type NotificationDelivery = {
  /** What happened, in one line. */
  title: string

  /** `accounts/…/notificationTargets/{notificationTarget}/deliveries/{delivery}`; its id is the `webhook-id`. */
  name: string
  kind:
    | 'BUILD_FAILED'
    | 'BUILD_RECOVERED'
    | 'BUILD_LIVE'
    | 'APP_CRASH_LOOP'
    | 'CERTIFICATE_FAILING'
    | 'DISK_NEARLY_FULL'
    | 'QUOTA_NEARLY_FULL'
    | 'PUBLISH_LATE'
    | 'TEST'

  /** What it is about, by its name. */
  resource: string

  /** `WAITING` for its next try; `DELIVERED`; `FAILED`: it is not tried again; `ENDED`: the target was switched off first. */
  state: 'WAITING' | 'DELIVERED' | 'FAILED' | 'ENDED'

  /** How often it was tried, one under way included. */
  attempts: number

  /** The HTTP status of the last answer. */
  responseStatus?: number

  /** Why the last try failed; empty if it did not. */
  error: string

  /** When it happened. */
  createTime: string

  /** When it is tried next. */
  nextTime?: string

  /** When it was delivered, or given up. */
  endTime?: string
}

export type NotificationDeliveryList = {
  deliveries: NotificationDelivery[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type NotificationTarget = {
  /** `accounts/{account}/notificationTargets/{notificationTarget}` */
  name: string

  /** One line of text that people read. */
  displayName: string

  /** What it is sent to: `WEBHOOK` is a signed call by the Standard Webhooks specification; `SLACK`, `DISCORD` and `TEAMS` are their incoming webhooks (of Teams, those of Workflows); `EMAIL` needs a mail server of the operator. */
  kind: 'WEBHOOK' | 'SLACK' | 'DISCORD' | 'TEAMS' | 'EMAIL'

  /** The host of its URL. The whole URL is a secret. */
  host?: string

  /** Of `EMAIL`. */
  addresses?: string[]
  noticeKinds: (
    | 'BUILD_FAILED'
    | 'BUILD_RECOVERED'
    | 'BUILD_LIVE'
    | 'APP_CRASH_LOOP'
    | 'CERTIFICATE_FAILING'
    | 'DISK_NEARLY_FULL'
    | 'QUOTA_NEARLY_FULL'
    | 'PUBLISH_LATE'
  )[]
  apps: string[]

  /** Whether notices are sent to it. When it is switched off, those that wait are not sent any more. */
  enabled: boolean

  /** Why the service has switched it off: `GONE`, as the receiver answered that it does not exist any more (410). */
  disabledReason?: 'GONE'

  /** When it was made. */
  createTime: string

  /** When it was last changed. */
  updateTime: string

  /** It differs after every change of what users set. */
  etag: string
}

export type NotificationTargetList = {
  notificationTargets: NotificationTarget[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type Operation = {
  /** `accounts/…/environments/{environment}/operations/{operation}` */
  name: string
  metadata: {
    '@type': string

    /** The build; ends in `/builds/no_build` where nothing is built. */
    build: string

    /** The deployment; empty until traffic is switched to it. */
    deployment: string

    /** True if visitors got the output already: the live deployment stays live. */
    unchanged?: boolean

    /** When it was requested. */
    createTime: string
    phase: 'QUEUED' | 'UNPACKING' | 'PLANNING' | 'INSTALLING' | 'BUILDING' | 'STARTING' | 'SWITCHING' | 'DONE'

    /** What requested it. */
    trigger:
      | 'CREATE'
      | 'UPDATE'
      | 'DELETE'
      | 'UPLOAD'
      | 'REBUILD'
      | 'CLEAN_REBUILD'
      | 'ACTIVATE'
      | 'PROMOTE'
      | 'PURGE_CACHE'

    /** Who requested it. Null if an earlier version of the service did not record it. */
    requestedBy: Requester | null

    /** The sender's message about the archive; without one, the commit's subject, or empty. */
    message: string

    /** The git commit of the archive, as its sender states it. */
    commit: Commit | null

    /** While it waits: how many builds are before it, and itself. */
    queuePosition?: number
    waiting?: Waiting

    /** While it waits for a burst of calls to settle: when it begins if no further call comes. */
    settlesUntil?: string

    /** The calls that it satisfies, the newest first, at most 100; where one operation is read. */
    triggers?: string[]

    /** How many calls it satisfies; where one operation is read. */
    triggerCount?: number
  }
  done: boolean

  /** If it succeeded: the environment, or `{}` if it is deleted. */
  response?: Record<string, unknown>
  error?: OperationError
}

/** If it failed: google.rpc.Status. */
export type OperationError = { code: number; message: string; details: Record<string, unknown>[] }

export type OperationList = {
  operations: Operation[]

  /** Empty on the last page. */
  nextPageToken: string
}

/** What the live deployment itself answers now, past the cache. A sleeping app is not woken. */
export type Origin = {
  /** NOTHING is deployed; a FILE; a REDIRECT between files; a file that is MISSING; an answer of the APP; an app that is SILENT. */
  kind: 'NOTHING' | 'FILE' | 'REDIRECT' | 'MISSING' | 'APP' | 'SILENT'

  /** The same, in words. */
  detail: string
  status?: number

  /** The file in the output. */
  file?: string
  location?: string
  contentType?: string
  cacheControl?: string
  vary?: string
  etag?: string
  lastModified?: string

  /** Such an answer is never stored. */
  setsCookie?: boolean
  bytes?: number

  /** SHA-256 of the body, in hexadecimal. */
  digest?: string
}

/** Of the live version; absent where that was not asked. */
export type PageAnswer = {
  /** Absent where no answer came. */
  status?: number
  contentType?: string

  /** Where it redirects to; on its own host, the path alone. */
  location?: string

  /** Of the body, as far as it was read. */
  bytes?: number

  /** Until the whole body was there. */
  milliseconds: number

  /** Why there is no answer, or no whole one, in words. */
  problem?: string
}

/** How long the pages took that both versions answered. */
export type PageSpeed = { medianMilliseconds: number; p95Milliseconds: number }

export type PathCount = {
  /** As it was requested, without the query. `{id}`, `{email}` and `{token}` stand for what looks like one. */
  path: string

  /** Never too high; a little too low if very many paths were requested. */
  requests: number
}

/** Set by an activation of a deployment that is not of the newest upload: rebuilds by the API and by webhooks then build its archive. An upload that goes live, an activation of the newest upload, or `:unpin` ends it. */
export type Pin = {
  /** Digest of the archive that rebuilds build. */
  archive: string

  /** The deployment that was made live. Later builds of the archive may replace it. */
  deployment: string

  /** The activation that pinned it, where it is known. */
  operation?: string

  /** Since when. */
  time: string
}

/** What was detected, and what is done: framework, commands, output. */
export type Plan = Record<string, unknown>

export type Preview = {
  /** The branch that it shows. An app has one preview of a branch. */
  branch: string

  /** When it is deleted. Each deployment and each visit moves this on. */
  expireTime: string

  /** The keys of variables that its last build had from another environment. Its own variables of the same keys win. */
  inheritedVariables: string[]
}

export type PreviewSettings = {
  /** Whether previews are made. Those that exist stay. True unless it is changed. */
  enabled: boolean

  /** The environment whose variables, protection and settings previews get: its name, or empty for the one with `production: true`, else the oldest. */
  environment: string

  /** Whether previews get secrets, too. A branch may have been written by anyone who can push it. False unless it is changed. */
  secrets: boolean

  /** How many the app has at a time. 10 unless it is changed. */
  maxCount: number

  /** A preview without a deployment and a visit for this long is deleted. 14 unless it is changed. */
  idleDays: number
}

/** If it was promoted: where from. With the trigger PROMOTE, the output is that of this build. */
export type PromotedFrom = {
  /** The environment, which may be deleted by now. */
  environment: string

  /** Its displayName at that time. */
  displayName: string

  /** The build that was live there. */
  build: string
}

export type Promotion = {
  operation: Operation

  /** Whether the archive is built for the target. False: the same output goes live. */
  built: boolean

  /** Why it is built: the names of what a build of the target sees otherwise. Never values. */
  differing: string[]
}

/** What was found before it went live, page by page. */
export type PromotionCheck = {
  /** WARNED: broken pages, and live all the same. HELD: broken pages, so it was not made live. FORCED: broken pages, and a user had asked for it to go live in any case. SKIPPED: `skipped` says why. */
  outcome: 'PASSED' | 'WARNED' | 'HELD' | 'FORCED' | 'SKIPPED'

  /** What a broken page did then. */
  mode: 'BLOCK' | 'WARN' | 'OFF'

  /** Why nothing was asked for. */
  skipped?: string

  /** SITE: the sitemap and the links of the first page. */
  pagesFrom?: 'VISITS' | 'SITE'

  /** RECORD: the live version sleeps, so its own check is compared with. */
  comparedWith?: 'LIVE' | 'RECORD' | 'NOTHING'

  /** Pages that were asked for. */
  checked: number
  changed: number
  broken: number

  /** Pages that were not reached in time. */
  leftOut: number
  before?: PageSpeed
  after?: PageSpeed
  logErrors?: LogErrors

  /** Broken ones first. Where they are too many, others are left out. */
  pages: CheckedPage[]

  /** Whether pages are missing in the list. */
  shortened: boolean

  /** When it began. */
  startTime: string

  /** How long it took. */
  seconds: number
}

/** What is asked of a new version before visitors get it, and what a broken page does. */
export type PromotionChecks = {
  /** BLOCK: a version with a broken page is held. WARN: it goes live with warnings. OFF: no page is asked for. AUTO: WARN in the first 30 days of the environment, BLOCK afterwards. */
  mode: 'AUTO' | 'BLOCK' | 'WARN' | 'OFF'

  /** How many pages are asked for, the most visited first. */
  pages: number

  /** How long the whole check may take. Pages that were not reached by then are left out. */
  timeoutSeconds: number

  /** What AUTO means now; else the mode. */
  effectiveMode: 'BLOCK' | 'WARN' | 'OFF'
}

export type Protection = {
  /** Whether visitors are asked for a password. */
  hasPassword: boolean

  /** The addresses and ranges from which it can be seen. Empty: from everywhere. */
  addresses: string[]
}

export type Publish = {
  /** `accounts/…/environments/{environment}/publishes/{publish}` */
  name: string

  /** Whether something was built, or the cache was purged. */
  kind: 'BUILD' | 'PURGE'
  trigger:
    | 'CREATE'
    | 'UPDATE'
    | 'DELETE'
    | 'UPLOAD'
    | 'REBUILD'
    | 'CLEAN_REBUILD'
    | 'ACTIVATE'
    | 'PROMOTE'
    | 'PURGE_CACHE'

  /** Who requested it. Null if an earlier version of the service did not record it. */
  requestedBy: Requester | null

  /** The operation that did it; empty for a purge that has not ended. */
  operation: string

  /** Empty for a purge. */
  build: string

  /** UNDER_WAY: edges are being told. VISIBLE: every edge answers with it. Others never became visible. UNCHANGED: visitors had the same output already. HELD: the build looked wrong, or failed its check. SUPERSEDED: a newer upload took its place. */
  state: 'UNDER_WAY' | 'VISIBLE' | 'UNCHANGED' | 'HELD' | 'FAILED' | 'CANCELLED' | 'SUPERSEDED'

  /** Why it was held or failed: one of the reasons of the error reference. */
  reason?: string

  /** How many calls it satisfied: those that came while a build waited joined it. */
  calls: number

  /** When the first of them came. */
  callTime: string

  /** When the build or the purge began. */
  beginTime?: string

  /** When the build had ended, and what it made was started. */
  builtTime?: string

  /** When the switch or the purge was done at every edge. */
  visibleTime?: string

  /** When the first visitor got a page after it, at any edge. Absent where there was none before the next switch, or where the edge was restarted before. */
  firstVisitTime?: string

  /** When it ended, where it did not become visible. */
  endTime?: string

  /** From the first call until it began. */
  waitingMs?: number

  /** How long it was built. */
  buildingMs?: number

  /** From there until it was visible: starting the app, the switch, or the purge. */
  switchingMs?: number

  /** From there until the first visit; 0 where an edge had a visitor before the last edge was told. */
  untilVisitMs?: number

  /** From the first call until it was visible. */
  visibleMs?: number

  /** What the environment promised at that time. */
  promiseSeconds?: number

  /** Whether it became visible later than promised. */
  late: boolean
}

export type PublishList = {
  publishes: Publish[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type PublishPercentiles = {
  /** How many they are of. */
  count: number

  /** Half of them took at most this long. 0 where there are none. */
  p50Ms: number

  /** The same, for 95 of 100. */
  p95Ms: number

  /** The same, for 99 of 100. */
  p99Ms: number
}

export type PublishTimes = {
  /** `accounts/…/environments/{environment}/publishTimes` */
  name: string

  /** Publishes whose first call came since then count, as far as they are kept. */
  startTime: string

  /** What the environment promises now. */
  promiseSeconds?: number

  /** Builds first, then purges. */
  kinds: PublishTimesOfKind[]
}

export type PublishTimesOfKind = {
  kind: 'BUILD' | 'PURGE'
  visible: PublishPercentiles
  waiting: PublishPercentiles
  building: PublishPercentiles
  switching: PublishPercentiles
  untilVisit: PublishPercentiles

  /** Publishes that became visible later than promised. */
  late: number

  /** How many ended in each state; states without any are left out. */
  states: {
    state: 'UNDER_WAY' | 'VISIBLE' | 'UNCHANGED' | 'HELD' | 'FAILED' | 'CANCELLED' | 'SUPERSEDED'
    count: number
  }[]
}

/** The first paths and tags of a purge. */
export type Purged = {
  paths?: string[]
  tags?: string[]

  /** The first items of content that changed, in words, where the CMS named them. */
  content?: string[]

  /** Of all paths and tags; 0 where everything was purged. */
  count: number
}

export type PushAnswer = {
  /** WANTED: the commit is fetched and deployed. REMOVED: a preview goes with its branch. */
  state: 'WANTED' | 'REMOVED' | 'IGNORED' | 'PING'

  /** The same in words, for people who look at the calls at the provider. */
  message: string
}

export type Rebuild = {
  /** Start without anything kept from earlier builds. */
  clean?: boolean

  /** Make it live also where its output is suspicious, or its pages are broken. */
  force?: boolean
}

export type Region = {
  /** `regions/{region}` */
  name: string
  displayName: string
}

export type RegionList = {
  regions: Region[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type Repository = {
  /** `accounts/…/environments/{environment}/repository` */
  name: string

  /** Where it is: `https://github.com/acme/site.git`, `ssh://git@github.com/acme/site.git` or `git@github.com:acme/site.git`. A user name with a password or a token in it is refused. */
  url: string

  /** The branch whose commits are deployed. */
  branch: string

  /** What runs there, which decides how its calls are checked and how statuses are sent; Forgejo counts as GITEA. Known from the host unless it is given. Null: another git server, which is only polled. */
  provider: 'GITHUB' | 'GITLAB' | 'GITEA' | 'BITBUCKET' | null

  /** Sent with the token over https; empty for what the provider expects with a token. */
  username: string

  /** Whether a token is stored. */
  hasToken: boolean

  /** The public part of the deploy key, to be added to the repository as a key that reads; empty without one. */
  publicKey: string

  /** The keys of the server for an address of ssh, as lines of OpenSSH's known_hosts. Empty: the key that the server has at the first contact is kept, and another one is refused from then on. */
  knownHosts: string

  /** How often the branch is looked at, whether or not the provider calls. Null: never. */
  pollMinutes: number | null

  /** Whether the provider is told how each build of a commit goes. It takes a token. */
  sendsStatuses: boolean

  /** Where the provider calls after a push, with the secret that was shown; it contains no secret itself. */
  hookUrl: string

  /** Whether a fetch is wanted or under way. */
  fetching: boolean

  /** The commit that was last fetched and deployed; empty before. */
  lastCommit: string

  /** When the branch was last looked at with success. */
  lastFetchTime?: string

  /** The operation that deployed it; empty before. */
  lastOperation: string

  /** Why the last fetch failed. */
  problem: RepositoryProblem | null

  /** Why the provider did not take the last status of a commit. */
  statusProblem: RepositoryProblem | null

  /** When it was connected. */
  createTime: string

  /** When it was last changed. */
  updateTime: string

  /** It differs after every change of what `PATCH` can set. */
  etag: string
}

export type RepositoryProblem = {
  /** One of the reasons of the error reference. */
  reason: string

  /** What happened, and what to do next. */
  message: string

  /** When it happened. */
  time: string

  /** When it is tried again by itself. */
  retryTime?: string
}

export type RequestRecord = {
  /** Rises from one to the next; the id of its event in a stream. */
  number: number

  /** When the response ended. */
  time: string
  method: string

  /** As it was requested, without the query. `{id}`, `{email}` and `{token}` stand for what looks like one; a path of more than 512 characters ends with `…`. */
  path: string

  /** The names of the parameters of the query; values are not recorded. */
  parameters: string[]

  /** The status that the visitor got; 0 if the visitor left before. */
  status: number

  /** From the arrival of the request until the response was sent; of a WebSocket (101), until it was closed. 0 for one that was in memory. */
  durationMs: number

  /** Sent to the visitor, headers included. */
  bytes: number

  /** As in Cache-Status: `hit` from the cache; `stale` from the cache, although out of date; `miss`, the app was asked; `bypass`, this request could not be answered from a cache; `static`, a file of the deployment; `none`, a page of Headland itself. */
  cache: 'hit' | 'stale' | 'miss' | 'bypass' | 'static' | 'none'

  /** `complete`; `aborted`, the visitor left before the end; `broken`, the app or Headland ended the response in the middle. */
  outcome: 'complete' | 'aborted' | 'broken'

  /** The network of the visitor, /24 for IPv4 and /48 for IPv6; empty where a proxy does not report it. */
  client: string

  /** Of an error: the visitor sees it in `Headland-Request-Id`, and on pages of Headland. */
  id?: string

  /** So many requests of the same time were not recorded, as there were too many. */
  omitted: number
}

export type RequestRecordList = {
  /** The newest first. */
  requests: RequestRecord[]

  /** False where requests are not recorded (`requestLog`). */
  isRecorded: boolean

  /** Empty on the last page. */
  nextPageToken: string
}

export type Requester = {
  kind: 'USER' | 'CREDENTIAL' | 'WEBHOOK' | 'SCHEDULE' | 'REPOSITORY' | 'APP' | 'SERVICE'

  /** As it was at that time: the e-mail address of a user, the displayName of a credential, what the caller of a webhook calls itself or the action of the webhook, the name of an app. */
  name: string
}

/** The service builds again by itself after an outage of a server. */
export type Retry = {
  /** The build that is tried again. */
  build: string

  /** Servers that must answer first, as `host:port`. Empty: it is tried again when the time has come. */
  hosts: string[]

  /** When the servers are asked next, or it is built again. Absent where it was given up. */
  nextTime?: string

  /** When it is given up. */
  untilTime: string

  /** How often it was built again by the service. */
  rebuilds: number

  /** True where the service does not try any more. */
  givenUp: boolean
}

export type Schedule = {
  /** `accounts/…/environments/{environment}/schedules/{schedule}` */
  name: string

  /** What is requested. */
  action: 'REBUILD' | 'CLEAN_REBUILD' | 'PURGE_CACHE'

  /** Five fields as in a crontab: minute, hour, day of the month, month, day of the week (`30 3 * * MON-FRI`); or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. */
  cron: string

  /** The time zone of the expression, by its IANA name, such as `Europe/Berlin`. Changes of the clock are treated as cron does: a fixed time that is skipped runs right after the change, and one that comes twice runs once. */
  timeZone: string

  /** Whether it waits until it is resumed. Times that pass meanwhile are not caught up. */
  paused: boolean

  /** The next five times; none while it is paused. */
  nextTimes: string[]

  /** When it ran last. */
  lastTime?: string

  /** What its last run requested; empty if it did not run yet, or if the run was refused: the triggers tell why. */
  lastOperation: string

  /** When it was made. */
  createTime: string

  /** When it was last changed. */
  updateTime: string

  /** It differs after every change of its action, expression, time zone, or whether it is paused. */
  etag: string
}

export type ScheduleList = {
  schedules: Schedule[]

  /** Empty on the last page. */
  nextPageToken: string
}

export type Session = {
  email: string
  accounts: Account[]

  /** Accounts that ask the user to join them. They are not among `accounts` until they are accepted. */
  invitations: Invitation[]

  /** The user may see the processes and machines of the installation: `GET /v1/cluster`. */
  operator: boolean

  /** When the session ends by itself. */
  expireTime: string
}

export type ShellVariable = {
  /** Name of the variable: letters, digits and underscores, not starting with a digit. */
  key: string

  /** SECRET: struck from logs, and shown with `view=FULL` alone. PLAIN: neither. A variable that is given without a kind keeps the one it has; a new one is PLAIN if its name begins with `NEXT_PUBLIC_`, `NUXT_PUBLIC_`, `PUBLIC_`, `VITE_`, `REACT_APP_`, `GATSBY_`, `EXPO_PUBLIC_`, and SECRET otherwise. */
  kind?: 'SECRET' | 'PLAIN'

  /** Value, at most 65536 bytes; that of a secret is never shown again unless `view=FULL` is asked for. */
  value: string
}

export type ShownShellVariable = {
  /** Name of the variable: letters, digits and underscores, not starting with a digit. */
  key: string

  /** SECRET: struck from logs, and shown with `view=FULL` alone. PLAIN: neither. A variable that is given without a kind keeps the one it has; a new one is PLAIN if its name begins with `NEXT_PUBLIC_`, `NUXT_PUBLIC_`, `PUBLIC_`, `VITE_`, `REACT_APP_`, `GATSBY_`, `EXPO_PUBLIC_`, and SECRET otherwise. */
  kind: 'SECRET' | 'PLAIN'

  /** That of a secret only with `view=FULL`. The response of an operation has none. */
  value?: string
}

/** A copy of a response, kept by the edge. */
export type StoredObject = {
  status: number

  /** When the edge stored it. */
  storeTime: string

  /** When the app last confirmed that it is still valid, or when it was stored. */
  validateTime: string

  /** The value that the header `Age` would have now. */
  ageSeconds: number

  /** How old it may become before it is stale. */
  lifetimeSeconds: number

  /** The header that says so, as `cache-control: s-maxage=60`. */
  lifetimeFrom: string
  fresh: boolean

  /** The deployment that made it. It is used while that one is live. */
  deployment: string
  bytes: number
  tags: string[]

  /** The request headers that it is chosen by. Values that may be private are hidden. */
  variant: Record<string, string>
  etag?: string
  lastModified?: string

  /** How often it was served. */
  hits: number
  place: 'memory' | 'disk'

  /** With what the live deployment answers now. */
  comparison: 'SAME' | 'DIFFERENT' | 'UNKNOWN'
}

/** What to do with a rebuild that could not reach a server that the variables name, or that lost pages of the live deployment. */
export type SuspiciousOutput = {
  /** HOLD: a rebuild with a suspicious output is held. WARN: it goes live with a warning, as an upload does. */
  action: 'HOLD' | 'WARN'

  /** An output is suspicious if it lost more than this percentage of the pages of the live deployment. 100: never. */
  maxLostPagesPercent: number

  /** Fewer lost pages than this are never suspicious. */
  minLostPages: number
}

/** The exact versions that it was made with, and that its app runs on. */
export type Tools = {
  node: string

  /** As `pnpm 10.34.9`. */
  packageManager?: string
}

export type Trace = {
  /** The address that was looked at. */
  url: string

  /** Why visitors see what they see there, in a sentence. */
  verdict: string

  /** The live deployment. */
  deployment?: string

  /** The build that it is of. */
  build?: string

  /** What the edge has stored for this address. */
  stored: StoredObject[]
  origin: Origin

  /** What led there, the newest last. */
  timeline: {
    /** When it happened. */
    time: string
    what: 'TRIGGER' | 'BUILD' | 'LIVE' | 'PURGE' | 'STORED' | 'VALIDATED' | 'EXPIRED' | 'NOW'

    /** What happened, in a sentence. */
    detail: string

    /** The build, deployment or operation that it is about. */
    resource?: string
  }[]
}

export type Traffic = {
  /** `accounts/…/environments/{environment}/traffic` */
  name: string

  /** How long each point lasts. */
  stepSeconds: number

  /** The oldest first, without a gap; the last one is not over yet. */
  points: TrafficPoint[]
  totals: TrafficTotals
}

export type TrafficPaths = {
  /** `accounts/…/environments/{environment}/trafficPaths` */
  name: string

  /** False where the operator has switched it off (`countPaths`). */
  isCounted: boolean

  /** Since when they are counted: the beginning of an hour, or of a day in UTC for 7d and 30d. */
  startTime: string

  /** Paths with a successful answer, the most requested first. Files that pages load are left out. */
  top: PathCount[]

  /** Paths that were answered with 404 or 410, the most requested first. */
  missing: PathCount[]
}

export type TrafficPoint = {
  /** When it begins. */
  time: string

  /** Requests to the site, including those that were refused or broken off. */
  requests: number

  /** Requests that were answered without the app: from the cache, or as files. */
  hits: number

  /** Bytes sent to visitors, headers included. */
  bytes: number

  /** Answers with a status of 200 to 299. */
  status2xx: number

  /** Redirects, and answers that the copy of the visitor is still valid (304). */
  status3xx: number

  /** Answers with a status of 400 to 499: 404 where there is no such page. */
  status4xx: number

  /** Answers with a status of 500 and above. */
  errors: number

  /** Milliseconds until the answer began, for half of the requests. Estimated from a histogram. */
  p50Ms: number

  /** The same, for 95 of 100 requests. */
  p95Ms: number
}

/** The traffic of an environment in the last 24 hours. */
export type TrafficSummary = {
  /** `accounts/…/environments/{environment}` */
  environment: string

  /** When the first step begins. */
  startTime: string

  /** How long each step lasts. There are 24, and the last one is not over yet. */
  stepSeconds: number

  /** Requests to the site, for each step. */
  requests: number[]

  /** Requests that were answered without the app, for each step. */
  hits: number[]

  /** Answers with a status of 500 and above, for each step. */
  errors: number[]
}

export type TrafficSummaryList = {
  trafficSummaries: TrafficSummary[]

  /** Empty on the last page. */
  nextPageToken: string
}

/** All points together. */
export type TrafficTotals = {
  /** Requests to the site, including those that were refused or broken off. */
  requests: number

  /** Requests that were answered without the app: from the cache, or as files. */
  hits: number

  /** Bytes sent to visitors, headers included. */
  bytes: number

  /** Answers with a status of 200 to 299. */
  status2xx: number

  /** Redirects, and answers that the copy of the visitor is still valid (304). */
  status3xx: number

  /** Answers with a status of 400 to 499: 404 where there is no such page. */
  status4xx: number

  /** Answers with a status of 500 and above. */
  errors: number

  /** Milliseconds until the answer began, for half of the requests. Estimated from a histogram. */
  p50Ms: number

  /** The same, for 95 of 100 requests. */
  p95Ms: number
}

/** One entry of the ledger: a request for a build or a purge. */
export type Trigger = {
  /** `accounts/…/environments/{environment}/triggers/{trigger}` */
  name: string
  action: 'REBUILD' | 'CLEAN_REBUILD' | 'PURGE_CACHE' | 'DEPLOY'

  /** A webhook, the API, a schedule, a push to a branch, the connected repository, the app itself, or the service, which tries held builds again. */
  source: 'WEBHOOK' | 'API' | 'SCHEDULE' | 'PUSH' | 'REPOSITORY' | 'APP' | 'SERVICE'

  /** Who requested it. Null if an earlier version of the service did not record it. */
  requestedBy: Requester | null

  /** When it came. */
  createTime: string

  /** Where it came from; empty for schedules, the app itself and the service. */
  address: string

  /** The User-Agent of the caller. */
  userAgent: string

  /** HTTP status that it was answered with. */
  answer: number

  /** Why it was refused: one of the reasons of the error reference. */
  reason?: string

  /** The operation that satisfied it; empty where none did. */
  operation: string

  /** The git commit that this operation builds; null where it builds none, or is not kept any more. */
  commit: Commit | null

  /** True where it goes live, whatever a check finds: forced, or a held one made live. */
  forced?: boolean

  /** The CMS was down: the build was made from the content that was recorded at this time. */
  fromSnapshot?: string
  purged?: Purged
}

export type TriggerList = {
  triggers: Trigger[]

  /** Empty on the last page. */
  nextPageToken: string
}

/** A person who logs in to the portal. */
export type User = {
  /** `accounts/{account}/users/{user}` */
  name: string
  email: string

  /** What the caller may do: read, write, or also hand out access. */
  role: 'viewer' | 'developer' | 'owner'

  /** `INVITED` until an existing user has accepted the invitation: until then they have no access. */
  state: 'ACTIVE' | 'INVITED'

  /** When the user was invited or added to the account. */
  createTime: string
}

export type UserList = {
  users: User[]

  /** Empty on the last page. */
  nextPageToken: string
}

/** What a build would do; nothing was done. */
export type ValidatedPlan = { plan: Plan }

/** Why it has not started. */
export type Waiting = {
  /** `QUIET_PERIOD`: for further calls. `ENVIRONMENT`: for another operation of its environment. `MACHINE`: for others on this machine. `NEXT`: it begins at once. */
  reason: 'QUIET_PERIOD' | 'ENVIRONMENT' | 'MACHINE' | 'NEXT'

  /** How many end or begin before it. */
  ahead: number

  /** The same in words. */
  message: string
}

/** The operation that satisfies the call. What a token cannot see is left out. */
export type WebhookAnswer = {
  /** `accounts/…/environments/{environment}/operations/{operation}` */
  name: string
  metadata: {
    '@type': string

    /** The build; ends in `/builds/no_build` where nothing is built. */
    build: string

    /** The deployment; empty until traffic is switched to it. */
    deployment: string

    /** True if visitors got the output already: the live deployment stays live. */
    unchanged?: boolean

    /** When it was requested. */
    createTime: string
    phase: 'QUEUED' | 'UNPACKING' | 'PLANNING' | 'INSTALLING' | 'BUILDING' | 'STARTING' | 'SWITCHING' | 'DONE'

    /** What requested it. */
    trigger:
      | 'CREATE'
      | 'UPDATE'
      | 'DELETE'
      | 'UPLOAD'
      | 'REBUILD'
      | 'CLEAN_REBUILD'
      | 'ACTIVATE'
      | 'PROMOTE'
      | 'PURGE_CACHE'

    /** While it waits: how many builds are before it, and itself. */
    queuePosition?: number
    waiting?: Waiting

    /** While it waits for a burst of calls to settle: when it begins if no further call comes. */
    settlesUntil?: string

    /** The calls that it satisfies, the newest first, at most 100; where one operation is read. */
    triggers?: string[]

    /** How many calls it satisfies; where one operation is read. */
    triggerCount?: number
  }
  done: boolean

  /** If it succeeded: the environment, or `{}` if it is deleted. */
  response?: Record<string, unknown>
  error?: OperationError

  /** The same operation, in the form that plugins for other hosts expect. */
  job: {
    /** Id of the operation. */
    id: string
    state: 'PENDING' | 'DONE'

    /** Milliseconds since 1970. */
    createdAt: number
  }
}

/** The result of a webhook call, as far as its own token may read it. */
export type WebhookOperation = {
  /** The operation that satisfies the call. Another one may have taken the place of the one asked for. */
  name: string

  /** LIVE: visitors get what was built. PURGED: the cache was purged, and nothing is built. */
  state: 'WAITING' | 'BUILDING' | 'LIVE' | 'PURGED' | 'FAILED' | 'CANCELLED'
  phase: 'QUEUED' | 'UNPACKING' | 'PLANNING' | 'INSTALLING' | 'BUILDING' | 'STARTING' | 'SWITCHING' | 'DONE'

  /** Whether the state is final. */
  done: boolean

  /** While it waits for a burst of calls to settle: when it begins if no further call comes. */
  waitingUntil?: string

  /** Why it failed: one of the reasons of the error reference. */
  reason?: string

  /** The reason in words. What the build wrote is not in it. */
  message?: string

  /** The page of the build in the portal, for those who may log in; empty for a purge. */
  buildUrl: string

  /** Where the site answers. */
  siteUrl: string

  /** When it was requested. */
  createTime: string
}

/** The webhooks of an environment, which are made, regenerated and deleted together. */
export type WebhookSet = {
  /** `accounts/…/environments/{environment}/webhooks` */
  name: string

  /** One for each action. */
  webhooks: {
    /** Rebuild; rebuild without anything that the framework has cached; or purge what the edge has stored. */
    action: 'rebuild' | 'cleanRebuild' | 'purgeCache'

    /** When the URL was last called, since it was made. */
    lastUseTime?: string
  }[]

  /** A build that webhooks requested begins when no further call came for this many seconds. 0: at once. */
  quietSeconds: number

  /** The build begins at most this many seconds after the first call, however many calls come. */
  maxQuietSeconds: number

  /** The former name of `maxQuietSeconds`, which the next version removes. @deprecated */
  quietSecondsMost?: number

  /** When the set was made. */
  createTime: string

  /** When its URLs were made. */
  regenerateTime: string
}
