import { anyOf, type Phrase, phrases } from './phrase.ts'
import { plainText } from './plain-text.ts'

// Plain text has no accents. Only what hardly anybody writes with another intent is here: whoever reviews a tool in one of
// these languages should not have to get used to false alarms.

const GERMAN = [
  `\\b(?:ignorier(?:e|en|t)?|missachte|vergiss|vergesst|uberge?h(?:e|en)?) (?:\\w{1,30} ){0,3}?(?:vorherigen|vorigen|bisherigen|fruheren|obigen|vorangegangenen|deine|ursprunglichen) (?:\\w{1,30} )?(?:anweisungen|instruktionen|regeln|befehle|vorgaben|richtlinien)`,
  `\\b(?:sag|sage|verrate|erwahne|erzahle|teile|zeige|informiere|sagen sie|erwahnen sie)\\b.{0,30}\\b(?:benutzer|nutzer|anwender|user)(?:in|n|s)?\\b.{0,20}\\b(?:nichts|nicht|niemals|nie)\\b`,
  `\\b(?:erwahne|verrate|sage|zeige|informiere|erwahnen sie)\\b.{0,20}\\b(?:nicht|nichts|nie|niemals)\\b.{0,30}\\b(?:benutzer|nutzer|anwender|user)`,
  '\\bohne (?:das )?wissen des (?:benutzers|nutzers|anwenders)\\b',
  `\\b(?:lies|lese|offne|kopiere|ubergib|sende|schicke)\\b.{0,60}(?:\\.ssh|id_rsa|/etc/passwd|\\.env\\b|passworter)`,
]
const FRENCH = [
  `\\b(?:ignor(?:e|ez|er)|oubli(?:e|ez|er)|neglige[rz]?) (?:\\w{1,30} ){0,3}?(?:instructions|consignes|directives|regles)(?: \\w{1,30})? (?:precedentes|anterieures|ci-dessus|initiales)`,
  `\\b(?:ignor(?:e|ez)|oubli(?:e|ez)) (?:\\w{1,30} ){0,2}?(?:precedentes|anterieures) (?:instructions|consignes|directives)`,
  `\\bne (?:le |la |lui |les )?(?:dis|dites|dire|mentionne[rz]?|revele[rz]?|informe[rz]?|previen\\w{0,30})\\b.{0,20}\\b(?:pas|rien|jamais)\\b.{0,30}\\b(?:l ?utilisateur|a lutilisateur|lutilisatrice)`,
  `\\b(?:a l ?insu|sans (?:en )?(?:informer|prevenir|avertir)) (?:de )?l ?utilisateur`,
  `\\b(?:lis|lisez|lire|ouvre|ouvrez|copie|envoie|envoyez)\\b.{0,60}(?:\\.ssh|id_rsa|/etc/passwd|\\.env\\b|mots de passe)`,
]
const SPANISH = [
  `\\b(?:ignor(?:a|e|ar|en)|olvid(?:a|e|ar|en)|descarta|omite) (?:\\w{1,30} ){0,3}?(?:instrucciones|indicaciones|ordenes|reglas|directrices) (?:anteriores|previas|precedentes|iniciales)`,
  `\\bno (?:le |se lo |lo )?(?:digas|diga|cuentes|menciones|mencione|reveles|informes|informe|avises|muestres)\\b.{0,30}\\b(?:usuario|usuaria)`,
  `\\b(?:sin (?:que el usuario (?:lo )?sepa|informar al usuario|avisar al usuario|decirle al usuario))`,
  `\\b(?:lee|abre|copia|envia|lea|abra)\\b.{0,60}(?:\\.ssh|id_rsa|/etc/passwd|\\.env\\b|contrasenas)`,
]
const CHINESE = [
  '(?:忽略|无视|忽视|忘记|忘掉|不要理会|無視|忘記).{0,10}(?:之前|以前|先前|以上|上述|上面|前面|此前|所有).{0,6}(?:指令|指示|提示|命令|规则|規則|要求|说明)',
  '(?:不要|不得|不能|别|請勿|请勿|切勿|無需|无需).{0,6}(?:告诉|告知|通知|提及|透露|告訴|提醒|泄露给).{0,6}(?:用户|用戶|使用者|任何人)',
  '(?:读取|打开|讀取|获取|上传|發送|发送).{0,20}(?:\\.ssh|id_rsa|/etc/passwd|\\.env\\b|密码|密钥|私钥)',
  '(?:瞒着|隐瞒|不让).{0,6}(?:用户|用戶|使用者)',
]

const PORTUGUESE = [
  `\\bignor(?:e|ar|a|em) (?:\\w{1,30} ){0,3}?(?:instrucoes|orientacoes|diretrizes|regras|ordens) (?:anteriores|previas|acima)`,
  `\\besquec(?:a|e|er) (?:\\w{1,30} ){0,3}?(?:instrucoes|orientacoes|regras) (?:anteriores|previas)`,
  `\\bnao (?:conte|diga|informe|mencione|revele|avise|mostre)\\b.{0,30}\\b(?:usuario|utilizador)`,
]
const ITALIAN = [
  `\\b(?:ignora|ignorare|dimentica|dimenticare) (?:\\w{1,30} ){0,3}?(?:istruzioni|indicazioni|regole|direttive) (?:precedenti|iniziali)`,
  `\\bnon (?:dire|dirlo|informare|menzionare|rivelare|avvisare)\\b.{0,30}\\b(?:allutente|lutente|utente)`,
]
const JAPANESE = [
  '(?:以前|これまで|前|上記|すべて|全て).{0,6}(?:指示|命令|ルール|プロンプト).{0,6}(?:無視|忘れ)',
  '(?:ユーザ|ユーザー|利用者).{0,10}(?:伝え|知らせ|言わ|話さ|明かさ|教え).{0,6}(?:ない|なく)',
]

// Plain text has Latin letters for all that look like them, so that is how these are looked for.
const RUSSIAN = [
  ...['игнорируй', 'игнорируйте', 'забудь', 'забудьте', 'проигнорируй'].flatMap(verb =>
    [
      'предыдущие инструкции',
      'все предыдущие инструкции',
      'предыдущие указания',
      'все предыдущие указания',
      'прежние инструкции',
    ].map(what => plainText(`${verb} ${what}`)),
  ),
  ...['не сообщай', 'не говори', 'не рассказывай', 'ничего не сообщай', 'не сообщайте', 'не говорите'].map(
    what => `${plainText(what)}.{0,20}${plainText('пользовател')}`,
  ),
]

const OTHERS = {
  rule: 'instruction',
  family: 'override',
  strength: 'strong',
  message: 'It tells the model to put aside what it was told, to keep something from the user, or to read secrets.',
} as const

/** The commonest phrases of other languages than English. */
export const LANGUAGE_PHRASES: readonly Phrase[] = [
  ...phrases({
    ...OTHERS,
    needs: [
      'nwei',
      'instru',
      'regel',
      'befehl',
      'vorgab',
      'richtlin',
      'nutzer',
      'anwend',
      'ssh',
      'rsa',
      'passw',
      'env',
    ],
    patterns: [anyOf(...GERMAN)],
  }),
  ...phrases({
    ...OTHERS,
    needs: ['instruction', 'consigne', 'directive', 'regle', 'utilisat', 'ssh', 'rsa', 'passw', 'env', 'mots'],
    patterns: [anyOf(...FRENCH)],
  }),
  ...phrases({
    ...OTHERS,
    needs: [
      'instruccion',
      'indicacion',
      'orden',
      'regla',
      'directric',
      'usuari',
      'ssh',
      'rsa',
      'passw',
      'env',
      'contrasen',
    ],
    patterns: [anyOf(...SPANISH)],
  }),
  ...phrases({
    ...OTHERS,
    needs: [
      'instruc',
      'orientac',
      'diretriz',
      'regra',
      'ordens',
      'usuario',
      'utilizador',
      'istruz',
      'indicaz',
      'regole',
      'direttiv',
      'utente',
    ],
    patterns: [anyOf(...PORTUGUESE), anyOf(...ITALIAN)],
  }),
  ...phrases({ ...OTHERS, needs: ['[\\u3040-\\u9fff]'], patterns: [anyOf(...CHINESE), anyOf(...JAPANESE)] }),
  ...phrases({ ...OTHERS, needs: ['[\\u0400-\\u04ff]'], patterns: [anyOf(...RUSSIAN)] }),
]
