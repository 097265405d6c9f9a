import { basename, resolve } from 'node:path'
import type { OpFault, OpUse, Paths } from '../../core/catalogue/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import {
  type DeclaredParameters,
  declaredIn,
  parseTemplate,
  type Template,
  type TemplatePlace,
  templateFaults,
} from '../shared/template.ts'
import { contains } from '../shared/walls/requested-path.ts'
import type { ProgramSettings } from './settings.ts'

const SEEN = 'has a secret, which may be in "env" only: everybody on this machine can read arguments'
const NOT_ENV = 'has a parameter, which may be in "args" and "stdin" only'

/** All templates of a declaration, and what each may hold. */
export function placesIn({ args, env, stdin }: ProgramSettings): TemplatePlace[] {
  return [
    ...args.flatMap((given, i) => textsOf(given).map(text => argument(text, `with.args.${i}`))),
    ...Object.entries(env).map(([name, text]) => ({ field: `with.env.${name}`, text, noParameters: NOT_ENV })),
    ...(stdin === undefined
      ? []
      : [{ field: 'with.stdin', text: stdin, noSecrets: 'has a secret, which may be in "env" only' }]),
  ]
}

const argument = (text: string, field: string): TemplatePlace => ({ field, text, noSecrets: SEEN, takesSpread: true })

export function textsOf(given: ProgramSettings['args'][number]): readonly string[] {
  if (typeof given === 'string') return [given]
  return Array.isArray(given) ? given : given.args
}

/** Mistakes in a declaration of a program. */
export function programFaults({ settings, parameters }: OpUse<ProgramSettings>): OpFault[] {
  const declared = declaredIn(parameters)
  const switches = settings.args.flatMap((given, i) =>
    typeof given === 'object' && 'when' in given ? [{ field: `with.args.${i}.when`, name: given.when }] : [],
  )
  const named = [...switches, ...settings.notPaths.map((name, i) => ({ field: `with.notPaths.${i}`, name }))]
  return [
    ...templateFaults(
      placesIn(settings),
      declared,
      switches.map(({ name }) => name),
    ),
    ...named
      .filter(({ name }) => !declared.names.includes(name))
      .map(({ field, name }) => ({
        field,
        message: `is "${name}", which is none of the parameters.${didYouMean(name, declared.names)}`,
      })),
    ...settings.args.flatMap((given, i) => textsOf(given).flatMap(text => spreadFaults(text, `with.args.${i}`))),
    ...codeFaults(settings, declared),
  ]
}

/** Mistakes in the path of a program's folder. Links are checked at each call. */
export function folderFaults({ cwd }: ProgramSettings, { projectDir, dataDir }: Paths): OpFault[] {
  const folder = resolve(projectDir, cwd)
  const fault = (message: string): OpFault[] => [{ field: 'with.cwd', message }]
  if (!contains(projectDir, folder, process.platform))
    return fault('is not in the project folder; name a folder that is')
  if (contains(dataDir, folder, process.platform))
    return fault('belongs to the data folder, which no tool may reach; name another folder')
  return []
}

function spreadFaults(text: string, field: string): OpFault[] {
  const { parts } = parseTemplate(text)
  const isMixed = parts.length > 1 && parts.some(part => part.kind === 'parameter' && part.isSpread)
  return isMixed ? [{ field, message: 'has a "{name...}" among other words; it must be an argument by itself' }] : []
}

/** A program that runs code given as an argument, and the options for it. */
interface Interpreter {
  readonly names: RegExp
  /** Letters of options with code, in the same argument or the next. */
  readonly code: string
  /** Letters of options with another value, in the same argument or the next. */
  readonly valued: string
  /** Letters of options whose value is the rest of the argument. */
  readonly attached?: string
  /** Long options with code, in the same argument or the next. */
  readonly long?: RegExp
  /** Long options and their letters. */
  readonly letterOf?: Readonly<Record<string, string>>
  /** Whether the arguments after an option with code belong to the code. */
  readonly endsWithCode?: true
  /** Set when the first argument that is no option is code, unless an option with one of these letters is there. */
  readonly unless?: string
  /** A first argument that is followed by code. */
  readonly command?: string
}

const INTERPRETERS: readonly Interpreter[] = [
  { names: /^(?:python|pypy)$/i, code: 'cm', valued: 'WXQ', endsWithCode: true },
  {
    names: /^(?:node|nodejs|bun)$/i,
    code: 'epr',
    valued: 'C',
    long: /^--(?:eval|print|require|preload|import|loader|experimental-loader)$/,
  },
  { names: /^deno$/i, code: '', valued: 'cL', long: /^--eval$/, command: 'eval' },
  { names: /^perl$/i, code: 'eEMm', valued: 'I', attached: 'ixF' },
  { names: /^ruby$/i, code: 'er', valued: 'ICE', attached: 'ixFKWT' },
  {
    names: /^php$/i,
    code: 'rBREd',
    valued: 'fFctSz',
    long: /^--(?:run|process-begin|process-code|process-end|define)$/,
  },
  { names: /^(?:lua|luajit)$/i, code: 'el', valued: '' },
  { names: /^(?:Rscript|osascript)$/i, code: 'e', valued: 'l' },
  {
    names: /^[gmn]?awk$/i,
    code: 'e',
    valued: 'fvFilE',
    letterOf: {
      '--source': 'e',
      '--file': 'f',
      '--exec': 'E',
      '--assign': 'v',
      '--field-separator': 'F',
      '--include': 'i',
      '--load': 'l',
    },
    unless: 'feE',
  },
  {
    names: /^g?sed$/i,
    code: 'e',
    valued: 'f',
    attached: 'il',
    letterOf: { '--expression': 'e', '--file': 'f' },
    unless: 'fe',
  },
]

/** An argument in a declaration. */
interface Argument {
  readonly text: string
  readonly field: string
  /** Whether every call has it. */
  readonly isSure: boolean
}

/** A value inside of code would be code as well: a shell by another name. */
function codeFaults({ program, args }: ProgramSettings, declared: DeclaredParameters): OpFault[] {
  // Versions are part of many names: `python3.12`.
  const name = basename(program.replaceAll('\\', '/')).replace(/[\d.]*(?:\.exe)?$/i, '')
  const interpreter = INTERPRETERS.find(({ names }) => names.test(name))
  if (!interpreter) return []
  const all = args.flatMap((given, i) => argumentsIn(given, `with.args.${i}`, declared))
  return codeIn(all, interpreter).flatMap(({ text, field }) => {
    const found = parseTemplate(text).parts.find(part => part.kind === 'parameter')
    if (!found) return []
    const fix = 'put the code into a file of its own, and the value into an argument for it'
    return [{ field, message: `has "{${found.name}}" in what "${program}" takes for code; ${fix}` }]
  })
}

function argumentsIn(given: ProgramSettings['args'][number], field: string, declared: DeclaredParameters): Argument[] {
  const isSwitched = typeof given === 'object' && 'when' in given
  const texts = typeof given === 'string' ? [given] : isSwitched ? given.args : given
  const isSure = !isSwitched && texts.every(text => isGiven(parseTemplate(text), declared))
  return texts.map(text => ({ text, field, isSure }))
}

function isGiven({ parts }: Template, { isRequired }: DeclaredParameters): boolean {
  return parts.every(part => part.kind !== 'parameter' || (isRequired(part.name) && !part.isSpread))
}

/** The arguments that are or end with code. After the first one that is no option come arguments of the code itself. */
function codeIn(all: readonly Argument[], interpreter: Interpreter): Argument[] {
  const code: Argument[] = []
  let isFirstCode = interpreter.unless !== undefined
  let areOptionsOver = false
  for (let i = 0; i < all.length; i++) {
    const one = all[i] as Argument
    const option = areOptionsOver ? undefined : optionIn(one.text, interpreter)
    if (one.text === '--') areOptionsOver = true
    else if (!option) {
      if (isFirstCode || (i > 0 && all[i - 1]?.text === interpreter.command)) code.push(one)
      // If this argument may be missing, the next one may take its place.
      if (one.isSure && one.text !== interpreter.command) return code
    } else {
      const { isCode, takesNext, letters } = option
      if (one.isSure && [...(interpreter.unless ?? '')].some(letter => letters.includes(letter))) isFirstCode = false
      const next = takesNext ? all[++i] : one
      if (isCode && next) code.push(next)
      if (isCode && one.isSure && interpreter.endsWithCode) return code
    }
  }
  return code
}

interface Option {
  readonly isCode: boolean
  /** Whether its value is the next argument. */
  readonly takesNext: boolean
  readonly letters: string
}

/** An argument as an option, if it is one. */
function optionIn(text: string, { code, valued, attached = '', long, letterOf = {} }: Interpreter): Option | undefined {
  const [first] = parseTemplate(text).parts
  const head = first?.kind === 'text' ? first.text : ''
  if (head.startsWith('--')) {
    const [name = '', value] = head.split('=', 2)
    const letter = Object.hasOwn(letterOf, name) ? (letterOf[name] ?? '') : ''
    const isCode = long?.test(name) || (letter !== '' && code.includes(letter))
    return { isCode, takesNext: value === undefined && (isCode || letter !== ''), letters: letter }
  }
  if (!head.startsWith('-') || text === '-') return undefined
  const letters = head.slice(1)
  const at = [...letters].findIndex(letter => (code + valued + attached).includes(letter))
  const found = letters.charAt(at)
  if (at < 0 || attached.includes(found))
    return { isCode: false, takesNext: false, letters: letters.slice(0, Math.max(at, 0)) }
  const rest = text.slice(at + 2)
  // `-pe` is two options with one text.
  const isEnd = rest === '' || (code.includes(found) && [...rest].every(letter => code.includes(letter)))
  return { isCode: code.includes(found), takesNext: isEnd, letters: letters.slice(0, at + 1) }
}
