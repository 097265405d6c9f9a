import { type Control, type ControlInput, type ControlOptions, Name } from '../../contracts/index.ts'
import type { CatalogueCapability, WithheldTool } from '../../core/catalogue/index.ts'
import { type Cancel, type Clock, upstreamIn } from '../../core/kernel/index.ts'
import type { Runtime } from '../bootstrap/runtime.ts'
import { isLocked } from '../project/take-folder.ts'

export interface MeetFirstDeps extends Pick<Runtime, 'meet' | 'meetAgain'> {
  readonly core: { readonly catalogue: Pick<Runtime['core']['catalogue'], 'current'> }
}

/**
 * A control for one command that connects servers without a listing only for commands about everything, and for an unknown tool
 * those that may have it: one that hangs holds up no unrelated command. Where no `up` keeps servers running, nothing notices that
 * a server lists a tool again which it had withdrawn or changed: the server is asked before the tool is refused.
 * `doctor` tries all of them, also those that were seen before.
 */
export function meetFirst(control: Control, { core, meet, meetAgain }: MeetFirstDeps): Control {
  async function forTool(tool: string): Promise<void> {
    const { tools, capabilities } = core.catalogue.current()
    if (tools.has(tool)) return
    for (const name of serversWithout(tool, capabilities.values())) await meetAgain(name)
    await meet({ tool })
  }

  async function forCapability(name: string): Promise<void> {
    if (core.catalogue.current().capabilities.get(name)?.unseen !== undefined) await meet({ name })
  }

  /** Who cannot be told that it takes a while, as a shell that completes a word, gets what there is. */
  async function forAll(_input: unknown, options: ControlOptions | undefined): Promise<void> {
    if (options?.onProgress) await meet()
  }

  /** A server that was listed once may be broken by now, and no `up` keeps it that would notice. */
  async function forDoctor(input: unknown, options: ControlOptions | undefined): Promise<void> {
    await forAll(input, options)
    if (options?.onProgress) await meetAgain()
  }

  async function forReview({ name }: ControlInput<'reviewItems'>, options: ControlOptions | undefined): Promise<void> {
    if (options?.onProgress) await meet(name === undefined ? undefined : { name })
  }

  async function forDocs({ path, query = '' }: ControlInput<'docs'>, options?: ControlOptions): Promise<void> {
    if (path !== undefined) await forPage(path)
    else if (!core.catalogue.current().tools.has(nameIn(query).name)) await forAll({}, options)
  }

  /** There is a page of each tool and of each capability. Any other is of no server, however its tools may be called. */
  async function forPage(path: string): Promise<void> {
    const { kind, name } = nameIn(path)
    const { capabilities, knowledge } = core.catalogue.current()
    if (kind === 'dependency') return
    const isWritten = kind === undefined && knowledge.has(name)
    if (kind !== 'tool' && capabilities.has(name)) await forCapability(name)
    else if (kind !== 'capability' && !isWritten && Name.safeParse(name).success) await forTool(name)
  }

  /** A named thing may need a server that was never listed; an unknown name may be a tool of one. */
  async function forAddress({ name: text }: ControlInput<'recheck'>): Promise<void> {
    const { kind, name } = nameIn(text)
    const { capabilities, dependencies } = core.catalogue.current()
    const needed = kind === undefined || kind === 'dependency' ? dependencies.get(name) : undefined
    const server = needed && upstreamIn(needed.unit)
    if (server !== undefined) await meet({ name: server })
    else if (kind !== 'tool' && capabilities.has(name)) await forCapability(name)
    else if (!needed && kind !== 'capability' && kind !== 'dependency') await forTool(name)
  }

  return {
    ...control,
    status: controlAfter(forAll, control.status),
    doctor: controlAfter(forDoctor, control.doctor),
    upstreams: controlAfter(forAll, control.upstreams),
    reviewItems: controlAfter(forReview, control.reviewItems),
    docs: controlAfter(forDocs, control.docs),
    checkDocs: controlAfter(forAll, control.checkDocs),
    tools: controlAfter(forAll, control.tools),
    capabilities: controlAfter(forAll, control.capabilities),
    agents: controlAfter(forAll, control.agents),
    checkAgent: controlAfter(forAll, control.checkAgent),
    prompt: controlAfter(forAll, control.prompt),
    grant: controlAfter(({ capability }) => forCapability(capability), control.grant),
    recheck: controlAfter(forAddress, control.recheck),
    tool: controlAfter(({ name }) => forTool(name), control.tool),
    call: controlAfter(({ tool }) => forTool(tool), control.call),
    // The process that runs a server keeps its log; where none does, the server is started for this.
    upstreamLogs: controlAfter(({ name }) => meet({ name }), control.upstreamLogs),
  }
}

type Held = Pick<CatalogueCapability, 'unit' | 'leftOut' | 'gone'>

/** The servers by which a tool of this name is held back, or was there once. */
function serversWithout(tool: string, capabilities: Iterable<Held>): string[] {
  const isIt = ({ name, calledAs = name }: WithheldTool) => calledAs === tool
  const isWithout = ({ leftOut, gone = [] }: Held) => leftOut.some(isIt) || gone.some(isIt)
  return [...capabilities].filter(isWithout).flatMap(({ unit }) => upstreamIn(unit) ?? [])
}

const ADDRESS = /^(?:(tool|capability|dependency):)?(.*)$/s

/** What a page is of, or an address names. */
function nameIn(text: string): { kind: string | undefined; name: string } {
  const [, kind, name = ''] = ADDRESS.exec(text) ?? []
  return { kind, name }
}

export interface ReadFirstDeps extends Pick<Runtime, 'readAgain'> {
  readonly core: { readonly catalogue: Pick<Runtime['core']['catalogue'], 'current'> }
}

/**
 * A control for one command that does not take a tool for missing, or a server for never listed, only because another command
 * had the store when this one began: listings stand in the store. It throws `STORE_LOCKED` while they cannot be read, so that
 * the caller waits and tries again. `status` and `doctor` answer all the same: they report the state.
 */
export function readFirst(control: Control, { core, readAgain }: ReadFirstDeps): Control {
  /** Of a tool that is there nothing more has to be known. */
  async function forTool(name: string): Promise<void> {
    if (!core.catalogue.current().tools.has(name)) await readAgain()
  }

  /** Who cannot be told that it takes a while, as a shell that completes a word, gets what there is. */
  async function forAll(_input: unknown, options: ControlOptions | undefined): Promise<void> {
    if (options?.onProgress) await readAgain().catch(orFewer)
  }

  return {
    ...control,
    tools: controlAfter(forAll, control.tools),
    tool: controlAfter(({ name }) => forTool(name), control.tool),
    capabilities: controlAfter(forAll, control.capabilities),
    agents: controlAfter(forAll, control.agents),
    checkAgent: controlAfter(forAll, control.checkAgent),
    prompt: controlAfter(forAll, control.prompt),
    grant: controlAfter(forAll, control.grant),
    recheck: controlAfter(forAll, control.recheck),
    call: controlAfter(({ tool }) => forTool(tool), control.call),
  }
}

/** What else is wrong with the store hides no tool that needs none, and `doctor` tells of it. */
function orFewer(error: unknown): void {
  if (isLocked(error)) throw error
}

export interface DownloadProgressDeps {
  readonly clock: Clock
  readonly upstreams: Pick<Runtime['upstreams'], 'statuses'>
}

const LOOK_EVERY_MS = 1_000

/** A control for one command that reports, while a restart waits, which upstreams may be downloading what they run. */
export function withDownloadProgress(control: Control, deps: DownloadProgressDeps): Control {
  return {
    ...control,
    restartUpstream(input, options = {}) {
      const cancel = reportDownloads(deps, options)
      return control.restartUpstream(input, options).finally(cancel)
    },
  }
}

/** Reports the names that are waited for, and again when they change. */
function reportDownloads({ clock, upstreams }: DownloadProgressDeps, { onAwaiting }: ControlOptions): Cancel {
  let awaited = ''
  let cancel: Cancel = () => {}
  function look() {
    const names = upstreams.statuses().flatMap(one => (one.isFetching && one.state === 'starting' ? [one.name] : []))
    const text = names.join(', ')
    if (text !== awaited) onAwaiting?.(names)
    awaited = text
    cancel = clock.after(LOOK_EVERY_MS, look)
  }
  cancel = clock.after(0, look)
  return () => {
    cancel()
    if (awaited !== '') onAwaiting?.([])
  }
}

type Operation<I, O> = (input: I, options?: ControlOptions) => Promise<O>

/** An operation before which something else is done. */
function controlAfter<I, O>(first: Operation<I, void>, operation: Operation<I, O>): Operation<I, O> {
  return async (input, options) => {
    await first(input, options)
    return await operation(input, options)
  }
}
