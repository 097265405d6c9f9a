import type { AddedUpstream, ControlInput, WishedUpstream } from '../contracts/index.ts'
import type { Project } from './project.ts'
import { exposureProblems } from './upstream-findings.ts'
import { previewGrant, type Recipients } from './upstream-grants.ts'
import { switchedOff } from './upstream-outline.ts'

/** An upstream that is only looked at. */
export interface PreviewRequest
  extends Pick<ControlInput<'addUpstream'>, 'name' | 'entry' | 'secrets' | 'missing' | 'replace'> {
  readonly recipients: Recipients
  /** Others that would be there by then, in this order. */
  readonly beside: readonly WishedUpstream[]
  readonly now: number
}

/** What would become of an upstream that is to be added, in the words of one that was. Nothing is written or started. */
export async function previewUpstream(
  { name, entry, secrets = {}, missing = [], replace = false, beside, recipients, now }: PreviewRequest,
  project: Pick<Project, 'configEditor' | 'agentFiles' | 'projectDir' | 'dataDir' | 'env'>,
): Promise<AddedUpstream> {
  const { configEditor, agentFiles, env } = project
  const options = { replace, secrets, missing, beside, env }
  const would = await configEditor.previewUpstream(name, entry, options)
  const { config, problems, released, secrets: kept, missing: unanswered, ...written } = would
  const { problems: ungranted, ...given } = await previewGrant(name, recipients, agentFiles)
  const exposed = await exposureProblems(name, { ...project, upstreams: () => new Map(config && [[name, config]]) })
  return {
    name,
    ...written,
    // How one would be that is to run is seen when it does.
    ...(config && !config.enabled && { status: switchedOff(name, config, now) }),
    secrets: [...kept],
    missing: { ...unanswered },
    ...released,
    ...given,
    problems: [...problems, ...ungranted, ...exposed],
  }
}
