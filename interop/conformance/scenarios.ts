/** Asked of a server since 2025-11-25, and still in 2026-07-28. */
const BOTH = [
  'completion-complete',
  'dns-rebinding-protection',
  'json-schema-2020-12',
  'prompts-get-embedded-resource',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-with-image',
  'prompts-list',
  'resources-list',
  'resources-read-binary',
  'resources-read-text',
  'resources-templates-read',
  'server-sse-multiple-streams',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-error',
  'tools-call-image',
  'tools-call-mixed-content',
  'tools-call-simple-text',
  'tools-call-with-progress',
  'tools-list',
]

/** All that the suite runs against a server, by revision: what is required, and what is run beside it. */
export const SCENARIOS = {
  '2025-11-25': [
    ...BOTH,
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
    'logging-set-level',
    'ping',
    'resources-subscribe',
    'resources-unsubscribe',
    'server-initialize',
    'server-session-lifecycle',
    'server-sse-polling',
    'tools-call-elicitation',
    'tools-call-sampling',
    'tools-call-with-logging',
  ],
  '2026-07-28': [
    ...BOTH,
    'caching',
    'http-custom-header-server-validation',
    'http-header-validation',
    'input-required-result-basic-elicitation',
    'input-required-result-basic-list-roots',
    'input-required-result-basic-sampling',
    'input-required-result-capability-check',
    'input-required-result-ignore-extra-params',
    'input-required-result-missing-input-response',
    'input-required-result-multi-round',
    'input-required-result-multiple-input-requests',
    'input-required-result-non-tool-request',
    'input-required-result-request-state',
    'input-required-result-result-type',
    'input-required-result-tampered-state',
    'input-required-result-unsupported-methods',
    'input-required-result-validate-input',
    'sep-2164-resource-not-found',
    'server-stateless',
    'tasks-capability-negotiation',
    'tasks-dispatch-and-envelope',
    'tasks-lifecycle',
    'tasks-mrtr-composition',
    'tasks-mrtr-input',
    'tasks-request-headers',
    'tasks-request-state-removal',
    'tasks-required-task-error',
    'tasks-status-notifications',
    'tasks-wire-fields',
  ],
} as const

/** Those of the skills extension, which no revision asks for. Ours have one file each, and no folder to look into. */
export const SKILLS = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest']

/** What the suite says, by scenario. */
export type Remarks = Readonly<Record<string, readonly string[]>>

/** What the suite remarks without counting it as a failure, by scenario, and why it stays so. Nothing else is let pass. */
export const REMARKS: Remarks = {
  // The suite itself does not look yet.
  'tasks-status-notifications': ['SKIPPED tasks-status-notifications'],
}

/** What it remarks on skills of a session. */
export const REMARKS_ON_OLD_SKILLS: Remarks = {
  // How long an answer may be kept is said from 2026-07-28 on.
  'sep-2640-skills-enumeration': [
    'SKIPPED sep-2640-skills-list-cache-attributes',
    'SKIPPED sep-2640-skills-get-cache-attributes',
  ],
}

/** What it remarks where even the shortest answer of a session is a stream. */
export const REMARKS_ON_STREAMS: Remarks = {
  ...REMARKS,
  // Streams that are resumed by `Last-Event-ID` went with 2026-07-28; here a client that lost one asks again.
  'server-sse-polling': ['WARNING server-sse-priming-event', 'WARNING server-sse-retry-field'],
}

/**
 * What it says besides, failures included, when a client of 2026-07-28 is in front and a server from before behind. Of
 * either era with its like behind, and of an old client with a new server, it says none of this.
 */
export const REMARKS_ACROSS_ERAS: Remarks = {
  ...REMARKS,
  // The suite wants the question under the server's own key, and a question had none: it gets one from us.
  'input-required-result-basic-elicitation': ['FAILURE sep-2322-elicitation-incomplete'],
  // The same: the answer comes under a key that nobody has asked under.
  'input-required-result-ignore-extra-params': ['WARNING sep-2322-ignore-unexpected-params'],
  // A session hears once what its client can be asked, and here many clients share it. What the caller cannot answer is
  // declined, and the tool goes on as it does after a refusal: this one answers at once, where the suite wants it to ask
  // for something else. A tool that then fails is told as what the client would have to be able to do.
  'input-required-result-capability-check': ['FAILURE sep-2322-respect-client-capabilities'],
}
