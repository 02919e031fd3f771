/// What shells offer at the Tab key, made of the commands' own tables.
struct Completions {
  private let commands: [Command]

  init(_ commands: [Command]) { self.commands = commands }

  // MARK: - bash

  var bash: String {
    let cases = commands.map { command in
      let options = command.options + Command.common
      let names = options.map { "--\($0.name)" } + options.compactMap { $0.short.map { "-\($0)" } }
      let files = options.filter(\.takesFile).map { "--\($0.name)" }
      let values = options.filter { $0.value != nil }.flatMap { option in
        ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
      }
      return """
            \(command.name))
              options='\(names.joined(separator: " "))'
              values=' \(values.joined(separator: " ")) '
              files=' \(files.joined(separator: " ")) '
              acts='\(command.acts.map { $0.joined(separator: " ") }.joined(separator: "|"))'
              ;;
        """
    }
    return """
      # bash completion for xcache
      _xcache() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
        local command=${COMP_WORDS[1]} options='' values='' files='' acts='' said='' act
        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
          COMPREPLY=($(compgen -W '\(commands.map(\.name).joined(separator: " "))' -- "$cur"))
          return
        fi
        case $command in
          help)
            ((COMP_CWORD == 2)) && COMPREPLY=($(compgen -W '\(commands.map(\.name).joined(separator: " "))' -- "$cur"))
            return
            ;;
      \(cases.joined(separator: "\n"))
        esac
        if [[ $values == *" $prev "* ]]; then
          [[ $files == *" $prev "* ]] && COMPREPLY=($(compgen -f -- "$cur"))
          return
        fi
        if [[ $cur == -* ]]; then
          COMPREPLY=($(compgen -W "$options" -- "$cur"))
          return
        fi
        local i
        for ((i = 2; i < COMP_CWORD; i++)); do
          if [[ $values == *" ${COMP_WORDS[i]} "* ]]; then ((i++)); elif [[ ${COMP_WORDS[i]} != -* ]]; then said+="${COMP_WORDS[i]} "; fi
        done
        local IFS='|' next=''
        for act in $acts; do
          [[ "$act " == "$said"* && "$act " != "$said" ]] || continue
          act=${act#"$said"}
          [[ "|$next" == *"|${act%% *}|"* ]] || next+="${act%% *}|"
        done
        if [[ -n $next ]]; then COMPREPLY=($(compgen -W "$next" -- "$cur")); else
          IFS=$'\\n'
          COMPREPLY=($(compgen -f -- "$cur"))
        fi
      }
      complete -o filenames -F _xcache xcache
      """
  }

  // MARK: - zsh

  var zsh: String {
    let names = commands.map { "    '\(Self.zsh($0.name)):\(Self.zsh($0.summary))'" }
    let cases = commands.map { command in
      let options = (command.options + Command.common).flatMap { option in
        (["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])).map { name in
          let value = option.value.map { ":\(Self.zsh($0)):\(option.takesFile ? "_files" : "")" } ?? ""
          return "        '*\(name)[\(Self.zsh(option.help))]\(value)'"
        }
      }
      let first = Set(command.acts.map { $0[0] }).sorted()
      let words =
        first.isEmpty
        ? ["        '*:file:_files'"]
        : ["        '1:act:(\(first.joined(separator: " ")))'"] + second(command) + [
          "        '*:file:_files'"
        ]
      return "      \(command.name)) _arguments -s \\\n\((options + words).joined(separator: " \\\n")) ;;"
    }
    return """
      #compdef xcache
      _xcache() {
        local -a commands
        commands=(
      \(names.joined(separator: "\n"))
        )
        if ((CURRENT == 2)); then
          _describe command commands
          return
        fi
        local command=$words[2]
        shift words
        ((CURRENT--))
        case $command in
      \(cases.joined(separator: "\n"))
        esac
      }
      _xcache "$@"
      """
  }

  /// Second words, such as `add` of `bypass add`.
  private func second(_ command: Command) -> [String] {
    let words = Set(command.acts.filter { $0.count > 1 }.map { $0[1] }).sorted()
    return words.isEmpty ? [] : ["        '2:act:(\(words.joined(separator: " ")))'"]
  }

  private static func zsh(_ text: String) -> String {
    text.map { character in
      switch character {
      case "'": "'\\''"
      case "[", "]", ":", "\\": "\\\(character)"
      default: String(character)
      }
    }.joined()
  }

  // MARK: - fish

  var fish: String {
    var lines = ["# fish completion for xcache", "complete -c xcache -f"]
    for command in commands {
      lines.append(
        "complete -c xcache -n __fish_use_subcommand -a \(command.name) -d '\(Self.fish(command.summary))'")
      let seen = "__fish_seen_subcommand_from \(command.name)"
      for option in command.options + Command.common {
        let short = option.short.map { " -s \($0)" } ?? ""
        let value = option.value == nil ? "" : option.takesFile ? " -r -F" : " -x"
        lines.append(
          "complete -c xcache -n '\(seen)'\(short) -l \(option.name)\(value) -d '\(Self.fish(option.help))'")
      }
      let first = command.acts.map { $0[0] }.joined(separator: " ")
      for act in command.acts {
        let before =
          act.count == 1
          ? "; and not __fish_seen_subcommand_from \(first)"
          : act.dropLast().map { "; and __fish_seen_subcommand_from \($0)" }.joined()
        lines.append("complete -c xcache -n '\(seen)\(before)' -a \(act[act.count - 1])")
      }
      if command.acts.isEmpty, command.takesFiles { lines.append("complete -c xcache -n '\(seen)' -F") }
    }
    return lines.joined(separator: "\n")
  }

  private static func fish(_ text: String) -> String {
    text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
  }
}

extension Option {
  /// Whether its value is a path.
  fileprivate var takesFile: Bool { value == "FILE" || value == "DIR" }
}
