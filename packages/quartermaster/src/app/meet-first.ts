import type { Control, ControlInput, ControlOptions } from '../contracts/index.ts'
import { controlAfter } from './control-after.ts'
import type { Runtime } from './runtime.ts'

export interface MeetFirstDeps extends Pick<Runtime, 'meet'> {
  readonly core: { readonly catalogue: Pick<Runtime['core']['catalogue'], 'current'> }
}

/**
 * A control for one command that meets servers nobody has ever seen only for whoever asks for all there is, and of a tool that is
 * not there those that may have it: one that hangs holds no command up that has nothing to do with it.
 */
export function meetFirst(control: Control, { core, meet }: MeetFirstDeps): Control {
  async function forTool(tool: string): Promise<void> {
    if (!core.catalogue.current().tools.has(tool)) await meet({ tool })
  }

  async function forCapability(name: string): Promise<void> {
    if (core.catalogue.current().capabilities.get(name)?.unseen !== undefined) await meet({ name })
  }

  /** Who cannot be told that it takes a while, as a shell that completes a word, gets what there is. */
  async function forAll(_input: unknown, options: ControlOptions | undefined): Promise<void> {
    if (options?.onProgress) await meet()
  }

  /** There is a page of each tool and of each capability. */
  async function forDocs({ path, query }: ControlInput<'docs'>, options: ControlOptions | undefined): Promise<void> {
    const [, kind, name = ''] = PAGE.exec(path ?? query ?? '') ?? []
    if (path === undefined && !core.catalogue.current().tools.has(name)) await forAll({}, options)
    else await (kind === 'capability' ? forCapability(name) : forTool(name))
  }

  return {
    ...control,
    status: controlAfter(forAll, control.status),
    doctor: controlAfter(forAll, control.doctor),
    upstreams: controlAfter(forAll, control.upstreams),
    reviewItems: controlAfter(forAll, control.reviewItems),
    docs: controlAfter(forDocs, control.docs),
    checkDocs: controlAfter(forAll, control.checkDocs),
    tools: controlAfter(forAll, control.tools),
    capabilities: controlAfter(forAll, control.capabilities),
    agents: controlAfter(forAll, control.agents),
    checkAgent: controlAfter(forAll, control.checkAgent),
    prompt: controlAfter(forAll, control.prompt),
    grant: controlAfter(({ capability }) => forCapability(capability), control.grant),
    recheck: controlAfter(forAll, control.recheck),
    tool: controlAfter(({ name }) => forTool(name), control.tool),
    call: controlAfter(({ tool }) => forTool(tool), control.call),
    // What it said is kept by whoever runs it, and where that is nobody it is tried for this.
    upstreamLogs: controlAfter(({ name }) => meet({ name }), control.upstreamLogs),
  }
}

/** What a page is of. */
const PAGE = /^(?:(tool|capability):)?(.*)$/s
