/** Limits of what callers may send and what is kept of it. `docs/reference/limits.md` is checked against this table. */
export const LIMITS = {
  /** Bytes of a JSON request body. */
  bodyBytes: 1024 * 1024,
  /** Bytes of all request headers together, the request line included. */
  headerBytes: 16 * 1024,
  /** Characters of an app's name. */
  appNameLength: 40,
  /** Characters of a displayName or a cmsEnvironment. */
  textLength: 100,
  /** Characters of a message about an archive, and of the subject of its commit: they are sent in the request line. */
  messageLength: 300,
  /** Characters of the name of a git branch. */
  branchLength: 200,
  /** Characters of the name of a commit's author, and of the address of its repository. */
  authorLength: 200,
  repositoryLength: 500,
  /** Characters of a requester's name that are kept. */
  requesterLength: 254,
  /** Characters of a rootDirectory. */
  rootDirectoryLength: 1024,
  /** Shell variables of one environment. */
  variables: 500,
  /** Characters of a shell variable's key. */
  variableKeyLength: 128,
  /** Bytes of one shell variable's value: Linux refuses to start a program with a longer string. */
  variableValueBytes: 64 * 1024,
  /** Bytes of all keys and values of one environment together. */
  variableTotalBytes: 512 * 1024,
  /** Custom host names of one environment. */
  domains: 50,
  /** Certificates that an account has uploaded. */
  uploadedCertificates: 100,
  /** Characters of the password of an environment: minimum and maximum. */
  minProtectionPasswordLength: 8,
  maxProtectionPasswordLength: 128,
  /** Addresses and ranges from which an environment can be seen. */
  protectionAddresses: 100,
  /** Servers of one environment whose answers to builds are recorded, and characters of the name of one, with its port. */
  contentSnapshotHosts: 10,
  contentSnapshotHostLength: 200,
  /** Of one content snapshot: answers, bytes of the body of one, and bytes of all bodies together. */
  contentSnapshotAnswers: 10_000,
  contentSnapshotBodyBytes: 16 * 1024 * 1024,
  contentSnapshotBytes: 128 * 1024 * 1024,
  /** Content snapshots that an environment keeps. */
  contentSnapshots: 10,
  /** Items of a list page: the default and the maximum. */
  pageSizeDefault: 50,
  maxPageSize: 200,
  /** Seconds that one call of operations:wait holds: the default and the maximum. */
  waitSecondsDefault: 30,
  maxWaitSeconds: 60,
  /** Calls of operations:wait that an account has open at a time. */
  waitsAtOnce: 200,
  /** Changes of one environment (of variables, or of the live deployment) that wait or are being made. */
  changesWaiting: 20,
  /** Builds that are counted for the position of a waiting build in the queue, itself included. */
  queueCounted: 1000,
  /** Paths and tags together that one call purges. */
  purgeEntries: 1000,
  /** Characters of one of these paths or tags. */
  purgeEntryLength: 2048,
  /** Characters of a key of the key-value store, as it is written in the address. */
  valueKeyLength: 4096,
  /** Bytes of one value of the key-value store. */
  valueBytes: 2 * 1024 * 1024,
  /** Bytes of all values of one environment together, on the disk: each takes whole blocks of 4,096. */
  valueTotalBytes: 64 * 1024 * 1024,
  /** Characters of an e-mail address. */
  emailLength: 254,
  /** Characters of a password that a user chooses: minimum and maximum. */
  minPasswordLength: 12,
  maxPasswordLength: 1024,
  /** Event streams that one user or credential has open at a time. */
  eventStreams: 20,
  /** Logs that one user or credential follows or reads at a time. */
  logStreams: 20,
  /** Event streams and logs together, of one account and of all. */
  accountStreams: 100,
  serviceStreams: 1000,
  /** Seconds that a build may wait for a burst of webhook calls to settle: after the last call, and after the first. */
  quietSeconds: 300,
  maxQuietSeconds: 3600,
  /** Triggers that an operation lists as satisfied by it. */
  triggersShown: 100,
  /** Characters of a caller's name (User-Agent) that the ledger keeps. */
  userAgentLength: 200,
  /**
   * Entries of the ledger that are kept for one environment, separately for builds and for purges: of webhooks, the
   * API, the app, the service, schedules, pushes.
   */
  triggersKeptOfWebhooks: 10_000,
  triggersKeptOfApi: 1000,
  triggersKeptOfApp: 100,
  triggersKeptOfService: 100,
  triggersKeptOfSchedules: 1000,
  /** Events of the audit log that are kept for one account; of what is requested often, such as purges; and for how long. */
  auditEventsKept: 10_000,
  auditRoutineKept: 2000,
  auditDays: 400,
  /** Of one event: characters of the name of what was changed and of its title, and its fields. */
  auditResourceLength: 500,
  auditTitleLength: 200,
  auditFields: 100,
  auditFieldLength: 200,
  triggersKeptOfPushes: 1000,
  /** Publishes that are kept for one environment, separately for builds and for purges, and for how many days. */
  publishesKept: 1000,
  publishDaysKept: 31,
  /** What an environment may promise: a day. */
  publishPromiseSeconds: 86_400,
  /** Schedules of one environment. */
  schedules: 20,
  /** Characters of a cron expression, and of the name of a time zone. */
  cronLength: 120,
  timeZoneLength: 64,
  /** Branches and tags of the repository of one app, and those that one push changes. */
  refs: 1000,
  refsPerPush: 100,
  /** Bytes of a request of `git fetch`: what it wants and what it has. */
  fetchBytes: 4 * 1024 * 1024,
  /** Requests of git that an account has open at a time, pushes that wait for their builds included. */
  gitAtOnce: 50,
  /** Previews of one app, and days after which an idle one is deleted: what an app may be set to. */
  previews: 100,
  previewIdleDays: 365,
  /** Characters of the address of a connected repository, its token, its deploy key, and the keys of its server. */
  repositoryUrlLength: 500,
  repositoryTokenLength: 1000,
  repositoryKeyLength: 10_000,
  knownHostsLength: 8000,
  /** Minutes between two looks at a connected repository, at most. */
  maxPollMinutes: 1440,
  /** Other branches of a connected repository that wait to be fetched for previews. */
  branchesWaiting: 50,
  /** How often the leader tries to send one commit status. */
  statusAttempts: 10,
  /** Entries of the ledger that are kept for one environment of its connected repository. */
  triggersKeptOfRepositories: 1000,
  /** Notification targets of one account. */
  notificationTargets: 20,
  /** Apps that a target is limited to, and e-mail addresses of one. */
  notificationApps: 50,
  notificationAddresses: 10,
  /** Characters of the URL of a target. */
  notificationUrlLength: 2048,
  /** Characters of the title and of the text of a notice that are kept. */
  noticeTitleLength: 200,
  noticeTextLength: 2000,
  /** Deliveries that are kept for one target. */
  deliveriesKept: 100,
  /** Test notices that an account sends in a minute. */
  testNotices: 20,
  /** E-mails of an account in an hour, one for each address. */
  emailsAnHour: 100,
  /** How often operations of webhooks of one environment are read with a webhook's token: at once, and per minute. */
  webhookReads: 600,
  /** Bytes of a webhook call's body that are read and discarded; beyond that, the connection is closed. */
  webhookBodyBytes: 64 * 1024 * 1024,
  /** Bytes of a call's body that are read to learn which content changed, and items that one purge names; beyond them, everything is purged. */
  contentBodyBytes: 256 * 1024,
  contentItems: 100,
  /** Seconds for which the edge keeps pages by their content at most. */
  learnedCachingSeconds: 7 * 24 * 60 * 60,
  /** Bytes of the call of a git hosting service after a push, and branches that one call may name. */
  hookBytes: 5 * 1024 * 1024,
  hookBranches: 100,
} as const
