/** Made by scripts/client.ts from the OpenAPI document of this version. Do not edit. */

import type {
  AccountList,
  AccountUsage,
  ActivityList,
  AddedUser,
  App,
  AppList,
  AuditEventList,
  Build,
  BuildList,
  Certificate,
  CertificateList,
  ChangedApp,
  ChangedEnvironment,
  ChangedNotificationTarget,
  ChangedPassword,
  ChangedRepository,
  ChangedSchedule,
  ChangedUser,
  ChangedWebhookSet,
  ClearCache,
  Cluster,
  ContentDiff,
  CredentialList,
  Deletion,
  Deployment,
  DeploymentList,
  DomainChecks,
  DomainList,
  Empty,
  Environment,
  EnvironmentList,
  EnvironmentUsage,
  ExampleList,
  Isolation,
  IssuedCredential,
  IssuedNotificationTarget,
  IssuedRepository,
  IssuedWebhookSet,
  NewApp,
  NewCertificate,
  NewCredential,
  NewDomains,
  NewEnvironment,
  NewNotificationTarget,
  NewPreview,
  NewPromotion,
  NewRepository,
  NewSchedule,
  NewSession,
  NewUser,
  NotificationDelivery,
  NotificationDeliveryList,
  NotificationTarget,
  NotificationTargetList,
  Operation,
  OperationList,
  Promotion,
  PublishList,
  PublishTimes,
  PushAnswer,
  Rebuild,
  RegionList,
  Repository,
  RequestRecordList,
  Schedule,
  ScheduleList,
  Session,
  Trace,
  Traffic,
  TrafficPaths,
  TrafficSummaryList,
  TriggerList,
  User,
  UserList,
  ValidatedPlan,
  WebhookAnswer,
  WebhookOperation,
  WebhookSet,
} from './resources.ts'

/** There is none. */
type Nothing = Record<never, never> | undefined

/** What a request and its answer hold, by method and path. */
export type Routes = {
  /** Create an app. For: developer. */
  'POST /v1/accounts/{account}/apps': {
    path: { account: string }
    query: {
      /** 1 to 40 letters, digits, hyphens and underscores, starting with a letter or digit; unique in the account whatever the case. */
      appId: string
    }
    body: NewApp
    reply: void
  }

  /** List the apps of an account. For: viewer. */
  'GET /v1/accounts/{account}/apps': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: AppList
  }

  /** Read an app. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}': {
    path: { account: string; app: string }
    query: Nothing
    body: Nothing
    reply: App
  }

  /** Delete an app. For: developer. */
  'DELETE /v1/accounts/{account}/apps/{app}': {
    path: { account: string; app: string }
    query: {
      /** Delete its environments with it. */
      force?: boolean | undefined
    }
    body: Deletion | undefined
    reply: Empty
  }

  /** Change the settings of an app: those of its previews. For: developer. */
  'PATCH /v1/accounts/{account}/apps/{app}': {
    path: { account: string; app: string }
    query: Nothing
    body: ChangedApp
    reply: App
  }

  /** Create an environment. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments': {
    path: { account: string; app: string }
    query: Nothing
    body: NewEnvironment
    reply: Operation
  }

  /** List the environments of an app. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments': {
    path: { account: string; app: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined

      /** FULL shows the values of secrets among the shell variables, to developers and owners. */
      view?: 'BASIC' | 'FULL' | undefined
    }
    body: Nothing
    reply: EnvironmentList
  }

  /** List the environments of all apps of an account. For: viewer. */
  'GET /v1/accounts/{account}/apps/-/environments': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: EnvironmentList
  }

  /** Read an environment. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}': {
    path: { account: string; app: string; environment: string }
    query: {
      /** FULL shows the values of secrets among the shell variables, to developers and owners. */
      view?: 'BASIC' | 'FULL' | undefined
    }
    body: Nothing
    reply: Environment
  }

  /** Change an environment. For: developer. */
  'PATCH /v1/accounts/{account}/apps/{app}/environments/{environment}': {
    path: { account: string; app: string; environment: string }
    query: {
      /** The fields to set, with commas between them: displayName, branch, cmsEnvironment, shellVariables, rootDirectory, suspiciousOutput, promotionChecks, contentSnapshots, minInstances, maxInstances, requestsPerInstance, production, protection, badge, publishPromiseSeconds, learnedCaching. All that are given, if absent. */
      updateMask?: string | undefined
    }
    body: ChangedEnvironment
    reply: Operation
  }

  /** Delete an environment. For: developer. */
  'DELETE /v1/accounts/{account}/apps/{app}/environments/{environment}': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Deletion | undefined
    reply: Operation
  }

  /** End the pin of an environment: the next rebuild builds the newest upload. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}:unpin': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Empty | undefined
    reply: Environment
  }

  /** Read the preview of a branch, which is created if there is none. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}:preview': {
    path: { account: string; app: string }
    query: Nothing
    body: NewPreview
    reply: Environment
  }

  /** Make what is live in an environment live in another one of the same app. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}:promote': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: NewPromotion
    reply: Promotion
  }

  /** The state of an environment as a picture; for everyone, where its badge is switched on. For everyone. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/badge.svg': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Nothing
    reply: string
  }

  /** Read a picture of the live site, where this service takes pictures. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/screenshot': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Nothing
    reply: string
  }

  /** Upload an archive: it is built and goes live. For: developer. */
  'POST /fu/v1/accounts/{account}/apps/{app}/environments/{environment}:upload': {
    path: { account: string; app: string; environment: string }
    query: {
      /** Answer with the plan, and build nothing: `{"plan": …}` instead of an operation. */
      validateOnly?: boolean | undefined

      /** Make it live also where the check of its pages finds broken ones. */
      force?: boolean | undefined

      /** What this archive is about: one line of text, shown with its builds and deployments. */
      message?: string | undefined

      /** The git commit that the archive was made from. */
      commit?: string | undefined

      /** Its branch; only with `commit`. */
      commitBranch?: string | undefined

      /** The first line of its message; only with `commit`. */
      commitSubject?: string | undefined

      /** Whether the archive differs from it; only with `commit`. */
      commitDirty?: boolean | undefined
    }
    body: Nothing
    reply: Operation | ValidatedPlan
    takesZip: true
  }

  /** List the examples that come with the service; the first one is meant for a first look. For: known. */
  'GET /v1/examples': { path: Nothing; query: Nothing; body: Nothing; reply: ExampleList }

  /** Read the archive of an example, to upload it. For: known. */
  'GET /v1/examples/{example}.zip': { path: { example: string }; query: Nothing; body: Nothing; reply: string }

  /** Build the newest upload again, or the archive that the environment is pinned to. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}:rebuild': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Rebuild | undefined
    reply: Operation
  }

  /** List the builds of an environment. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/builds': {
    path: { account: string; app: string; environment: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: BuildList
  }

  /** Read a build. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/builds/{build}': {
    path: { account: string; app: string; environment: string; build: string }
    query: Nothing
    body: Nothing
    reply: Build
  }

  /** Cancel a build: its whole process tree is ended. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/builds/{build}:cancel': {
    path: { account: string; app: string; environment: string; build: string }
    query: Nothing
    body: Empty | undefined
    reply: Empty
  }

  /** Read the log of a build, as text or as a stream. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/builds/{build}/log': {
    path: { account: string; app: string; environment: string; build: string }
    query: {
      /** How many lines to skip from the start; `X-Next-Offset` is the value for the next request. */
      offset?: number | undefined
    }
    body: Nothing
    reply: string
    streams: true
  }

  /** Compare the content that two builds got from the CMS. For: developer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/builds/{build}/contentDiff': {
    path: { account: string; app: string; environment: string; build: string }
    query: {
      /** The id of the build to compare with. */
      from: string
    }
    body: Nothing
    reply: ContentDiff
  }

  /** List the deployments of an environment. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/deployments': {
    path: { account: string; app: string; environment: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: DeploymentList
  }

  /** Read a deployment. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/deployments/{deployment}': {
    path: { account: string; app: string; environment: string; deployment: string }
    query: Nothing
    body: Nothing
    reply: Deployment
  }

  /** Make a deployment live again, back or forward, without a build. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/deployments/{deployment}:activate': {
    path: { account: string; app: string; environment: string; deployment: string }
    query: Nothing
    body: Empty | undefined
    reply: Operation
  }

  /** Read the log of the running app, as text or as a stream. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/logs': {
    path: { account: string; app: string; environment: string }
    query: {
      /** How many lines to skip from the start; `X-Next-Offset` is the value for the next request. */
      offset?: number | undefined
    }
    body: Nothing
    reply: string
    streams: true
  }

  /** Clear the cache, as a whole or by path and tag; it is cleared when the answer arrives. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}:clearCache': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: ClearCache | undefined
    reply: Operation
  }

  /** Create the webhooks of an environment; their URLs are in this answer only. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Empty | undefined
    reply: IssuedWebhookSet
  }

  /** Show the webhooks of an environment, without their URLs. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Nothing
    reply: WebhookSet
  }

  /** Change how long a build lets calls of webhooks settle. For: developer. */
  'PATCH /v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: ChangedWebhookSet
    reply: WebhookSet
  }

  /** Delete all webhooks of an environment; their URLs stop at once. For: developer. */
  'DELETE /v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Nothing
    reply: Empty
  }

  /** Make new URLs for all webhooks of an environment; the old ones stop at once. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks:regenerate': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Empty | undefined
    reply: IssuedWebhookSet
  }

  /** List who requested builds and purges of an environment, and the results. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/triggers': {
    path: { account: string; app: string; environment: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined

      /** Only triggers that this operation satisfied. */
      operation?: string | undefined

      /** Only triggers of this source. */
      source?: 'WEBHOOK' | 'API' | 'SCHEDULE' | 'PUSH' | 'REPOSITORY' | 'APP' | 'SERVICE' | undefined
    }
    body: Nothing
    reply: TriggerList
  }

  /** Call a webhook: the answer comes before any work, with the operation that satisfies the call. For everyone. */
  'POST /wh/v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks/webhook:{action}': {
    path: { account: string; app: string; environment: string; action: string }
    query: {
      /** The secret token of the URL. */
      token: string
    }
    body: Nothing
    reply: WebhookAnswer
  }

  /** Read the result of a webhook's call, with the token of that webhook. For everyone. */
  'GET /wh/v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks/webhook:{action}/operations/{operation}': {
    path: { account: string; app: string; environment: string; action: string; operation: string }
    query: {
      /** The secret token of the URL. */
      token: string
    }
    body: Nothing
    reply: WebhookOperation
  }

  /** List the schedules of an environment, with the next times of each. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/schedules': {
    path: { account: string; app: string; environment: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: ScheduleList
  }

  /** Request a rebuild or a purge again and again, at the times of a cron expression. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/schedules': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: NewSchedule
    reply: Schedule
  }

  /** Read a schedule. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/schedules/{schedule}': {
    path: { account: string; app: string; environment: string; schedule: string }
    query: Nothing
    body: Nothing
    reply: Schedule
  }

  /** Change, pause or resume a schedule. For: developer. */
  'PATCH /v1/accounts/{account}/apps/{app}/environments/{environment}/schedules/{schedule}': {
    path: { account: string; app: string; environment: string; schedule: string }
    query: Nothing
    body: ChangedSchedule
    reply: Schedule
  }

  /** Delete a schedule; what it has requested goes on. For: developer. */
  'DELETE /v1/accounts/{account}/apps/{app}/environments/{environment}/schedules/{schedule}': {
    path: { account: string; app: string; environment: string; schedule: string }
    query: Nothing
    body: Nothing
    reply: Empty
  }

  /** List the publishes of an environment, with when each was called for, built, visible and first visited. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/publishes': {
    path: { account: string; app: string; environment: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined

      /** Only those; all unless given. */
      kind?: 'BUILD' | 'PURGE' | undefined
    }
    body: Nothing
    reply: PublishList
  }

  /** Read how long publishes of an environment take, as percentiles. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/publishTimes': {
    path: { account: string; app: string; environment: string }
    query: {
      /** How far back; `7d` unless given. */
      range?: '1h' | '24h' | '7d' | '30d' | undefined
    }
    body: Nothing
    reply: PublishTimes
  }

  /** Show the repository that an environment follows, what was last fetched, and what went wrong. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/repository': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Nothing
    reply: Repository
  }

  /** Connect a repository: its branch is fetched and deployed; the secret of its hook is in this answer only. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/repository': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: NewRepository
    reply: IssuedRepository
  }

  /** Change how a repository is followed; another address, branch, token or key is tried at once. For: developer. */
  'PATCH /v1/accounts/{account}/apps/{app}/environments/{environment}/repository': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: ChangedRepository
    reply: Repository
  }

  /** Disconnect the repository; what is live stays. For: developer. */
  'DELETE /v1/accounts/{account}/apps/{app}/environments/{environment}/repository': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Nothing
    reply: Empty
  }

  /** Fetch and deploy the branch now, also if its commit was deployed before. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/repository:fetch': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Empty | undefined
    reply: Repository
  }

  /** Make a new secret for the hook; calls with the old one are refused at once. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/repository:regenerate': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Empty | undefined
    reply: IssuedRepository
  }

  /** Call of GitHub, GitLab, Gitea, Forgejo or Bitbucket after a push, signed with the secret of the hook. For everyone. */
  'POST /wh/v1/accounts/{account}/apps/{app}/environments/{environment}/repository:push': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Nothing
    reply: PushAnswer
  }

  /** Show why visitors see what they see at an address: what is stored, what is live, and what led there. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}:trace': {
    path: { account: string; app: string; environment: string }
    query: {
      /** A path, as `/news?page=2`, or a whole address at one of the hosts of the environment. */
      url: string
    }
    body: Nothing
    reply: Trace
  }

  /** List the custom host names of an environment. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/domains': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Nothing
    reply: DomainList
  }

  /** Replace the custom host names of an environment; its site answers at once on those that are given, and no others. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/domains:replace': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: NewDomains
    reply: DomainList
  }

  /** Check whether the custom host names of an environment lead here and with which certificate they are answered, and what to enter in DNS. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/domains:check': {
    path: { account: string; app: string; environment: string }
    query: {
      /** Ask again where the last answer is older than 10 seconds, instead of 60. */
      fresh?: boolean | undefined
    }
    body: Nothing
    reply: DomainChecks
  }

  /** Let a proxy on this machine ask whether a site answers on a host name, so that it may get a certificate. For everyone. */
  'GET /v1/domains:allowed': {
    path: Nothing
    query: {
      /** The host name. */
      domain: string
    }
    body: Nothing
    reply: void
  }

  /** List the certificates of an account: those that the service gets for its names, and uploaded ones. For: viewer. */
  'GET /v1/accounts/{account}/certificates': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: CertificateList
  }

  /** Upload a certificate for names of the account; it is used at once, instead of those that the service gets. For: developer. */
  'POST /v1/accounts/{account}/certificates': {
    path: { account: string }
    query: Nothing
    body: NewCertificate
    reply: Certificate
  }

  /** Read a certificate; its key is never shown. For: viewer. */
  'GET /v1/accounts/{account}/certificates/{certificate}': {
    path: { account: string; certificate: string }
    query: Nothing
    body: Nothing
    reply: Certificate
  }

  /** Delete an uploaded certificate; the service gets one for its names. For: developer. */
  'DELETE /v1/accounts/{account}/certificates/{certificate}': {
    path: { account: string; certificate: string }
    query: Nothing
    body: Nothing
    reply: Empty
  }

  /** Try at once to get a certificate that waits for its next attempt. For: developer. */
  'POST /v1/accounts/{account}/certificates/{certificate}:retry': {
    path: { account: string; certificate: string }
    query: Nothing
    body: Nothing
    reply: Certificate
  }

  /** List the operations of all environments of an account that run or wait. For: viewer. */
  'GET /v1/accounts/{account}/runningOperations': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: OperationList
  }

  /** List the operations of an environment. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/operations': {
    path: { account: string; app: string; environment: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: OperationList
  }

  /** Read an operation. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/operations/{operation}': {
    path: { account: string; app: string; environment: string; operation: string }
    query: Nothing
    body: Nothing
    reply: Operation
  }

  /** Wait for an operation to be done, or for the time to be over. For: viewer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/operations/{operation}:wait': {
    path: { account: string; app: string; environment: string; operation: string }
    query: {
      /** Seconds with an s, as in 30s, which is the default; more than 60s counts as that. */
      timeout?: string | undefined
    }
    body: Empty | undefined
    reply: Operation
  }

  /** Ask an operation to end early. For: developer. */
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/operations/{operation}:cancel': {
    path: { account: string; app: string; environment: string; operation: string }
    query: Nothing
    body: Empty | undefined
    reply: Empty
  }

  /** List the notification targets of an account. For: viewer. */
  'GET /v1/accounts/{account}/notificationTargets': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: NotificationTargetList
  }

  /** Send notices of the account somewhere; the secret of a webhook is in this answer only. For: owner. */
  'POST /v1/accounts/{account}/notificationTargets': {
    path: { account: string }
    query: Nothing
    body: NewNotificationTarget
    reply: IssuedNotificationTarget
  }

  /** Read a notification target. For: viewer. */
  'GET /v1/accounts/{account}/notificationTargets/{notificationTarget}': {
    path: { account: string; notificationTarget: string }
    query: Nothing
    body: Nothing
    reply: NotificationTarget
  }

  /** Change a notification target, or switch it on or off. For: owner. */
  'PATCH /v1/accounts/{account}/notificationTargets/{notificationTarget}': {
    path: { account: string; notificationTarget: string }
    query: Nothing
    body: ChangedNotificationTarget
    reply: NotificationTarget
  }

  /** Delete a notification target; notices that wait for it are not sent. For: owner. */
  'DELETE /v1/accounts/{account}/notificationTargets/{notificationTarget}': {
    path: { account: string; notificationTarget: string }
    query: Nothing
    body: Nothing
    reply: Empty
  }

  /** Send a test notice now; the answer tells what became of it. For: developer. */
  'POST /v1/accounts/{account}/notificationTargets/{notificationTarget}:test': {
    path: { account: string; notificationTarget: string }
    query: Nothing
    body: Nothing
    reply: NotificationDelivery
  }

  /** Make a new secret for a webhook; for a day, calls are signed with both. For: owner. */
  'POST /v1/accounts/{account}/notificationTargets/{notificationTarget}:regenerateSecret': {
    path: { account: string; notificationTarget: string }
    query: Nothing
    body: Nothing
    reply: IssuedNotificationTarget
  }

  /** List the last deliveries to a notification target. For: viewer. */
  'GET /v1/accounts/{account}/notificationTargets/{notificationTarget}/deliveries': {
    path: { account: string; notificationTarget: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: NotificationDeliveryList
  }

  /** List the API credentials of an account. For: viewer. */
  'GET /v1/accounts/{account}/credentials': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: CredentialList
  }

  /** Issue an API credential; its password is in this answer only. For: owner. */
  'POST /v1/accounts/{account}/credentials': {
    path: { account: string }
    query: Nothing
    body: NewCredential | undefined
    reply: IssuedCredential
  }

  /** Revoke an API credential. For: owner. */
  'DELETE /v1/accounts/{account}/credentials/{credential}': {
    path: { account: string; credential: string }
    query: Nothing
    body: Nothing
    reply: Empty
  }

  /** List the users of an account, and the users it has invited. For: viewer. */
  'GET /v1/accounts/{account}/users': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: UserList
  }

  /** Add a user to an account; a new user's password is in this answer only, and an existing user is invited. For: owner. */
  'POST /v1/accounts/{account}/users': { path: { account: string }; query: Nothing; body: NewUser; reply: AddedUser }

  /** Give a user another role in the account. For: owner. */
  'PATCH /v1/accounts/{account}/users/{user}': {
    path: { account: string; user: string }
    query: Nothing
    body: ChangedUser
    reply: User
  }

  /** Remove a user from the account, or withdraw an invitation; their sessions lose access. For: owner. */
  'DELETE /v1/accounts/{account}/users/{user}': {
    path: { account: string; user: string }
    query: Nothing
    body: Nothing
    reply: Empty
  }

  /** List the accounts that the caller belongs to. For: known. */
  'GET /v1/accounts': { path: Nothing; query: Nothing; body: Nothing; reply: AccountList }

  /** List the regions. For: known. */
  'GET /v1/regions': { path: Nothing; query: Nothing; body: Nothing; reply: RegionList }

  /** Show how this machine isolates builds and apps, and what it does not protect. For: known. */
  'GET /v1/isolation': { path: Nothing; query: Nothing; body: Nothing; reply: Isolation }

  /** Read the usage and the limits of an account: disk space and everything else that is limited. For: viewer. */
  'GET /v1/accounts/{account}/usage': { path: { account: string }; query: Nothing; body: Nothing; reply: AccountUsage }

  /** Read how much disk space an environment uses, by kind. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/usage': {
    path: { account: string; app: string; environment: string }
    query: Nothing
    body: Nothing
    reply: EnvironmentUsage
  }

  /** List who changed what in an account, newest first; neither reads nor values are in it. For: owner. */
  'GET /v1/accounts/{account}/auditEvents': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined

      /** Only events of this action. */
      action?:
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
        | undefined

      /** Only what was done by those whose name contains this: an e-mail address, the displayName of a credential. */
      by?: string | undefined

      /** Only changes of the resource of this name, and of all below it: `accounts/{account}/apps/{app}`. */
      resource?: string | undefined

      /** Only what was done at this time or later. */
      startTime?: string | undefined

      /** Only what was done before this time. */
      endTime?: string | undefined
    }
    body: Nothing
    reply: AuditEventList
  }

  /** List what each environment of an account does now: its visits, its app and its memory. For: viewer. */
  'GET /v1/accounts/{account}/activity': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: ActivityList
  }

  /** List the traffic of the last 24 hours of all environments of an account that had visits. For: viewer. */
  'GET /v1/accounts/{account}/trafficSummaries': {
    path: { account: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** Newest first unless given. */
      orderBy?: 'createTime desc' | 'createTime' | 'createTime asc' | undefined
    }
    body: Nothing
    reply: TrafficSummaryList
  }

  /** Read the traffic of an environment: requests, hits, bytes, status classes and latency. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/traffic': {
    path: { account: string; app: string; environment: string }
    query: {
      /** How far back; `24h` unless given. */
      range?: '1h' | '24h' | '7d' | '30d' | undefined
    }
    body: Nothing
    reply: Traffic
  }

  /** Read the most visited paths of an environment, and the most requested missing ones. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/trafficPaths': {
    path: { account: string; app: string; environment: string }
    query: {
      /** How far back; `24h` unless given. */
      range?: '1h' | '24h' | '7d' | '30d' | undefined
    }
    body: Nothing
    reply: TrafficPaths
  }

  /** List the last requests of visitors, or follow them as a stream of events. For: viewer. */
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/requests': {
    path: { account: string; app: string; environment: string }
    query: {
      /** 50 unless given; more than 200 counts as 200. */
      pageSize?: number | undefined

      /** nextPageToken of the page before. */
      pageToken?: string | undefined

      /** A status, as `500`, or a class of them, as `5xx`. */
      status?: string | undefined

      /** A whole path, where `*` stands for any characters: `/blog*`, `/*\/comments`. */
      path?: string | undefined

      /** The request id that a visitor was shown. */
      id?: string | undefined

      /** Of a stream: the number of the request after which it begins; `Last-Event-ID` is stronger. */
      offset?: number | undefined
    }
    body: Nothing
    reply: RequestRecordList
    streams: true
  }

  /** Follow what changes in an account, as server-sent events. For: viewer. */
  'GET /v1/accounts/{account}/events': { path: { account: string }; query: Nothing; body: Nothing; reply: never }

  /** Log in to the portal: sets an HttpOnly cookie. For everyone. */
  'POST /v1/session': { path: Nothing; query: Nothing; body: NewSession; reply: Session }

  /** Read who is logged in. For: session. */
  'GET /v1/session': { path: Nothing; query: Nothing; body: Nothing; reply: Session }

  /** Log out. For: session. */
  'DELETE /v1/session': {
    path: Nothing
    query: {
      /** End all of the user's sessions, not only this one. */
      everywhere?: boolean | undefined
    }
    body: Nothing
    reply: Empty
  }

  /** Change the password of the logged-in user, and end all their other sessions. For: session. */
  'POST /v1/session:changePassword': { path: Nothing; query: Nothing; body: ChangedPassword; reply: Empty }

  /** Accept an invitation: the user belongs to the account from now on. For: session. */
  'POST /v1/session/invitations/{invitation}:accept': {
    path: { invitation: string }
    query: Nothing
    body: Nothing
    reply: Session
  }

  /** Decline an invitation. For: session. */
  'POST /v1/session/invitations/{invitation}:decline': {
    path: { invitation: string }
    query: Nothing
    body: Nothing
    reply: Session
  }

  /** Show the processes and machines of the installation, and what is wrong with them, to its operators. For: operator. */
  'GET /v1/cluster': { path: Nothing; query: Nothing; body: Nothing; reply: Cluster }

  /** The process is alive. For everyone. */
  'GET /healthz': { path: Nothing; query: Nothing; body: Nothing; reply: { status: string } }

  /** The service can serve. For everyone. */
  'GET /readyz': { path: Nothing; query: Nothing; body: Nothing; reply: { status: string } }

  /** Metrics for Prometheus; needs a credential, or a caller on this machine. For everyone. */
  'GET /metrics': { path: Nothing; query: Nothing; body: Nothing; reply: string }

  /** This API as an OpenAPI 3.1 document. For everyone. */
  'GET /openapi.json': { path: Nothing; query: Nothing; body: Nothing; reply: Record<string, unknown> }

  /** This API as a page to read. For everyone. */
  'GET /docs': { path: Nothing; query: Nothing; body: Nothing; reply: string }
}
/** Those that answer with text. */
export const TEXT_ROUTES: readonly string[] = [
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/badge.svg',
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/screenshot',
  'GET /v1/examples/{example}.zip',
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/builds/{build}/log',
  'GET /v1/accounts/{account}/apps/{app}/environments/{environment}/logs',
  'GET /metrics',
  'GET /docs',
]

/** The reasons that this version gives. A newer service may give others. */
export type Reason =
  | 'ACCOUNT_LIMIT'
  | 'ACCOUNT_NOT_FOUND'
  | 'ADDRESS_NOT_ALLOWED'
  | 'APP_EXISTS'
  | 'APP_HAS_ENVIRONMENTS'
  | 'APP_NOT_FOUND'
  | 'ARCHIVE_EMPTY'
  | 'ARCHIVE_ENCRYPTED'
  | 'ARCHIVE_ENTRY_DUPLICATE'
  | 'ARCHIVE_ENTRY_UNSAFE'
  | 'ARCHIVE_NOT_ZIP'
  | 'ARCHIVE_SIZE_LIES'
  | 'ARCHIVE_TOO_LARGE'
  | 'BODY_TOO_LARGE'
  | 'BUILD_NOT_FOUND'
  | 'CERTIFICATE_INVALID'
  | 'CERTIFICATE_NOT_FOUND'
  | 'CERTIFICATE_NOT_WAITING'
  | 'CERTIFICATE_OF_SERVICE'
  | 'CONTENT_NOT_RECORDED'
  | 'CONTENT_TOO_LARGE'
  | 'CONTENT_TYPE_UNSUPPORTED'
  | 'CREDENTIALS_REQUIRED'
  | 'CREDENTIALS_WRONG'
  | 'CREDENTIAL_NOT_FOUND'
  | 'DEPLOYMENT_NOT_ACTIVATABLE'
  | 'DEPLOYMENT_NOT_FOUND'
  | 'DISK_FULL'
  | 'DOMAIN_NOT_FOUND'
  | 'DOMAIN_TAKEN'
  | 'EMAIL_NOT_SET_UP'
  | 'ENVIRONMENT_DELETING'
  | 'ENVIRONMENT_NOT_FOUND'
  | 'ETAG_MISMATCH'
  | 'EXAMPLE_NOT_FOUND'
  | 'FIELD_INVALID'
  | 'INTERNAL'
  | 'INVITATION_NOT_FOUND'
  | 'ISOLATION_MISSING'
  | 'JSON_MALFORMED'
  | 'LAST_OWNER'
  | 'LOG_IN_FAILED'
  | 'MULTIPART_MALFORMED'
  | 'NOTHING_TO_PROMOTE'
  | 'NOTHING_UPLOADED'
  | 'NOTIFICATION_TARGET_NOT_FOUND'
  | 'NOT_READY'
  | 'OPERATION_NOT_FOUND'
  | 'ORIGIN_REFUSED'
  | 'PAGE_TOKEN_INVALID'
  | 'PART_MISSING'
  | 'PART_UNEXPECTED'
  | 'PASSWORDS_BUSY'
  | 'PASSWORD_WRONG'
  | 'PLAN_FAILED'
  | 'PREVIEWS_DISABLED'
  | 'PREVIEW_LIMIT'
  | 'PREVIEW_WITHOUT_ENVIRONMENT'
  | 'PROMOTION_NEEDS_BUILD'
  | 'PURGE_NOT_CONFIRMED'
  | 'QUOTA_EXCEEDED'
  | 'REGION_UNAVAILABLE'
  | 'REPOSITORY_EXISTS'
  | 'REPOSITORY_NOT_FOUND'
  | 'ROLE_TOO_WEAK'
  | 'ROUTE_NOT_FOUND'
  | 'SCHEDULE_NOT_FOUND'
  | 'SCREENSHOT_NOT_FOUND'
  | 'STORAGE_UNAVAILABLE'
  | 'TOO_MANY_BADGES'
  | 'TOO_MANY_CHANGES'
  | 'TOO_MANY_CHECKS'
  | 'TOO_MANY_GUESSES'
  | 'TOO_MANY_LOG_INS'
  | 'TOO_MANY_NEW_USERS'
  | 'TOO_MANY_NOTIFICATION_TARGETS'
  | 'TOO_MANY_RETRIES'
  | 'TOO_MANY_SCHEDULES'
  | 'TOO_MANY_STREAMS'
  | 'TOO_MANY_TEST_NOTICES'
  | 'TOO_MANY_TRIGGERS'
  | 'UPLOAD_INTERRUPTED'
  | 'UPLOAD_TOO_SLOW'
  | 'USER_EXISTS'
  | 'USER_NOT_FOUND'
  | 'USER_NOT_VOUCHED'
  | 'VARIABLE_RESERVED'
  | 'WEBHOOKS_EXIST'
  | 'WEBHOOKS_NOT_FOUND'
  | 'WEBHOOK_REFUSED'
